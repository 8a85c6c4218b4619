# A server of one ledger. Build it in a checkout, and keep the ledger in a volume; docs/how-to/install.md has the commands.
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
COPY requirements.txt .
RUN python -m venv /opt/tallystick \
    && /opt/tallystick/bin/python -m pip install --only-binary :all: --require-hashes -r requirements.txt
COPY . .
RUN /opt/tallystick/bin/python -m pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
    && /opt/tallystick/bin/python -m pip install --no-deps --no-index /dist/*.whl

FROM python:3.13-slim-bookworm
LABEL org.opencontainers.image.title="Tallystick" \
      org.opencontainers.image.description="A ledger for AI agents" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 8321 --home-dir /ledger --shell /usr/sbin/nologin tallystick \
    && install -d -m 0700 -o tallystick -g tallystick /ledger
COPY --from=build /opt/tallystick /opt/tallystick
ENV PATH=/opt/tallystick/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    TALLYSTICK_LEDGER=/ledger/tallystick.db
USER 8321
WORKDIR /ledger
VOLUME /ledger
EXPOSE 8321
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8321/readyz', timeout=5)"]
ENTRYPOINT ["tallystick"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8321", "--require-tokens"]
