#!/bin/sh
# Makes sure that the programs named as arguments are there:
#
#   internal/dev/setup.sh runc skopeo
#
# On Debian and Ubuntu, as root, what is missing is installed with the package manager. Anywhere else
# nothing is changed, and the first line of the error says what to install. A program that no line of
# package_of knows is an error, so that a misspelt name never looks like a program that is there.
set -eu

PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# package_of PROGRAM prints the Debian packages that bring it.
package_of() {
	case $1 in
	runc | skopeo | umoci | docker-registry | mmdebstrap | git | python3) echo "$1" ;;
	dockerd) echo docker.io ;;
	busybox) echo busybox-static ;;
	gcc) echo "gcc libc6-dev" ;; # the race detector links with it
	*)
		echo "setup.sh: do not know which package brings $1" >&2
		return 1
		;;
	esac
}

programs='' packages=''
for program in "$@"; do
	package=$(package_of "$program")
	command -v "$program" >/dev/null && continue
	programs="$programs $program"
	packages="$packages $package"
done
[ -n "$programs" ] || exit 0

if ! command -v apt-get >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "setup: please install:$programs" >&2
	if command -v apt-get >/dev/null; then
		echo "as root: apt-get install$packages" >&2
	else
		echo "Debian's packages are called:$packages" >&2
	fi
	exit 1
fi

# Some of these packages start a service when they are installed. Tests start their own, and nothing is
# to be left running: for the time of the installation, services may not start.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	trap 'exit 1' HUP INT TERM
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 755 "$policy"
fi

echo "setup: installing$packages" >&2
export DEBIAN_FRONTEND=noninteractive
# Another installation may hold the lock: wait for it.
apt="apt-get -qq -o DPkg::Lock::Timeout=600"
log=$(mktemp)
# shellcheck disable=SC2086 # a list of words on purpose
if ! { $apt update && $apt install -y --no-install-recommends $packages; } >"$log" 2>&1 </dev/null; then
	echo "setup: could not install:$packages" >&2
	cat "$log" >&2
	rm -f "$log"
	exit 1
fi
rm -f "$log"

for program in $programs; do
	command -v "$program" >/dev/null || {
		echo "setup: $program is still missing after installing:$packages" >&2
		exit 1
	}
done
