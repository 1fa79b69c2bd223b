# One image for workers, commands and the Spark job. What of it was tried, and how: docs/containers.md.
ARG BASE=python:3.11-slim-bookworm
FROM ${BASE}

# A release says which Python its list of parts is of: another base is refused if it has another one.
ARG PYTHON=
RUN python -c "import sys; here = '%d.%d' % sys.version_info[:2]; \
sys.exit('${PYTHON}' not in ('', here) and f'the base has Python {here}, the release is of ${PYTHON}')"

RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 flagfall

WORKDIR /opt/flagfall
ENV PATH=/opt/flagfall/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    UV_PYTHON_DOWNLOADS=never \
    UV_COMPILE_BYTECODE=1 \
    FLAGFALL_DATA_DIR=/var/lib/flagfall \
    FLAGFALL_CACHE_DIR=/var/cache/flagfall

COPY requirements.bootstrap.lock requirements.run.lock ./
RUN python -m venv .venv \
    && pip install --no-cache-dir --require-hashes -r requirements.bootstrap.lock \
    && uv pip install --python .venv/bin/python --no-cache --no-build-isolation --require-hashes -r requirements.run.lock

COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY agents agents
COPY tables tables
COPY spark_batch spark_batch
RUN uv pip install --python .venv/bin/python --no-cache --no-deps --no-build-isolation --editable . \
    && python -m compileall -q app agents tables spark_batch \
    && install -d -o flagfall /var/lib/flagfall /var/lib/flagfall/reconciliation /var/cache/flagfall

USER flagfall
# Compiles the engine's loops (numba) once, for whoever builds and runs on the same kind of processor.
RUN python -c "import app.edge.worker"
# What the Spark job needs of Maven Central, compared with app/base/services/jars.sha256: no run fetches anything.
RUN flagfall services fetch spark
EXPOSE 18081
ENTRYPOINT ["flagfall"]
CMD ["--help"]
