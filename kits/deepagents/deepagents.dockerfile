# check=skip=SecretsUsedInArgOrEnv
# OPENAI_API_KEY holds no secret: the Model Runner takes any key, and "dmr" says that none is meant.
#
# Nothing is installed here: an overlay cannot know the Python of the base that it will lie on. It only
# carries environment. NO_PROXY is left to the workload: two kits that give one variable different
# values do not compose.
FROM scratch
ENV OPENAI_BASE_URL="http://host.docker.internal:12434/engines/v1" \
    OPENAI_API_KEY="dmr" \
    DEEPAGENTS_MODEL="ai/qwen3" \
    LANGSMITH_TRACING="false"
