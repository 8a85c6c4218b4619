# A server of Tallystick, from the folder above all of this. Untried: see ../README.md.
FROM python:3.11-slim-bookworm
COPY . /source
RUN pip install --no-cache-dir '/source[postgres]' \
 && rm -rf /source \
 && useradd --system --uid 10001 --home-dir /state tallystick \
 && install -d -o tallystick -g tallystick -m 700 /state
USER tallystick
ENTRYPOINT ["tallystick"]
