# An image with overtake, gcc and the build tools: docker build -t overtake . && docker run --rm -v "$PWD:/src" -w /src overtake run bank.c
FROM rust:1-bookworm AS build
WORKDIR /overtake
COPY . .
RUN scripts/make-packages

FROM debian:bookworm-slim
COPY --from=build /overtake/target/packages/overtake_*.deb /tmp/
RUN apt-get update \
    && apt-get install -y --no-install-recommends /tmp/overtake_*.deb gcc g++ libc6-dev make cmake ninja-build \
    && rm -rf /var/lib/apt/lists/* /tmp/overtake_*.deb
WORKDIR /src
ENTRYPOINT ["overtake"]
