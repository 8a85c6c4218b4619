# PostgreSQL 15 with Patroni. Untried: see ../README.md.
FROM postgres:15-bookworm
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && python3 -m venv /opt/patroni \
 && /opt/patroni/bin/pip install --no-cache-dir 'patroni[etcd3,psycopg3]==4.1.5' \
 && install -d -o postgres -g postgres -m 700 /var/lib/postgresql/15
USER postgres
ENV PATH=/opt/patroni/bin:/usr/lib/postgresql/15/bin:$PATH
ENTRYPOINT ["/opt/patroni/bin/patroni", "/etc/patroni/patroni.yml"]
