# The base is any Debian or Ubuntu with apt and Python 3.11 or newer. A build can replace it, and its layers stay as
# they are: --build-context debian:12-slim=...
FROM debian:12-slim

# Fixes the dates that useradd writes, when the builder states it.
ARG SOURCE_DATE_EPOCH

# Only what the base lacks is installed, so that a base which holds all of it needs no network.
RUN <<'SETUP'
set -eu

missing=
for package in bash ca-certificates curl git python3 python3-pip; do
  case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
  installed) ;;
  *) missing="$missing $package" ;;
  esac
done
if [ -n "$missing" ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update
  apt-get -qq install -y --no-install-recommends $missing
  rm -rf /var/lib/apt/lists/* /var/cache/apt/* /var/cache/debconf/*-old /var/lib/dpkg/*-old
  find /var/log -type f -delete
fi
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo 'the base has a Python older than 3.11' >&2
  exit 1
}

# The platform's user. Some bases give uid 1000 to a user of their own.
taken=$(id -nu 1000 2>/dev/null || true)
[ -z "$taken" ] || userdel --remove "$taken" 2>/dev/null
groupadd --gid 1000 agent
useradd --uid 1000 --gid 1000 --no-log-init --create-home --home-dir /home/agent --shell /bin/bash agent
mkdir /home/agent/workspace
chown 1000:1000 /home/agent/workspace
rm -f /etc/passwd- /etc/group- /etc/shadow- /etc/gshadow- /etc/subuid- /etc/subgid-

# Nobody changes user in a sandbox: no program gets to run as somebody else.
find / -xdev -type f -perm /6000 -exec chmod a-s {} +
SETUP

# Each bash that runs a script reads this file first. It belongs to root: a file that the agent could change
# would run with the rights of whoever starts bash.
COPY --chmod=0644 <<'PERSISTENT' /etc/sandbox-env.sh
# Read by every bash through BASH_ENV. The agent keeps its own variables in ~/.sandbox-env.sh.
if [ "$EUID" = 1000 ]; then
  case ":$PATH:" in
  *:/home/agent/.local/bin:*) ;;
  *) PATH=/home/agent/.local/bin:$PATH ;;
  esac
  if [ -r /home/agent/.sandbox-env.sh ]; then
    . /home/agent/.sandbox-env.sh
  fi
fi
PERSISTENT

# Programs inside reach each other directly; all else goes through the sandbox's proxy.
ENV BASH_ENV=/etc/sandbox-env.sh \
    LANG=C.UTF-8 \
    NO_PROXY=localhost,127.0.0.1,::1 \
    no_proxy=localhost,127.0.0.1,::1

USER agent
WORKDIR /home/agent/workspace
# No ENTRYPOINT, so that `docker run shell:1.0.0 id` runs id.
CMD ["/bin/bash"]
