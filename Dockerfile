# visim with Intel's compilers: docker build -t visim . && docker run --rm -v "$PWD:/work" visim run k.cl --device bmg ...
FROM python:3.13-slim
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev \
    && rm -rf /var/lib/apt/lists/*
COPY . /tmp/visim
RUN pip install --no-cache-dir /tmp/visim && rm -rf /tmp/visim
ENV VISIM_DATA_DIR=/opt/visim
RUN visim toolchain install
WORKDIR /work
ENTRYPOINT ["visim"]
