# syntax=docker/dockerfile:1
# Both images can be replaced, for example by mirrors: --build-arg BUILD_IMAGE=... --build-arg RUNTIME_IMAGE=...
ARG BUILD_IMAGE=docker.io/denoland/deno:2.9.6
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian12:nonroot

# Compiling for another architecture needs no emulation, so this stage runs on the builder's own.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
ARG TARGETARCH=amd64
# The commit that is built, since .git is not part of the context.
ARG COMMIT=
WORKDIR /build
COPY deno.json deno.lock main.ts ./
COPY scripts scripts
COPY src src
RUN case "$TARGETARCH" in arm64) target=aarch64 ;; *) target=x86_64 ;; esac \
  && PORTCULLIS_COMMIT="$COMMIT" deno task compile --target "$target-unknown-linux-gnu" --out /out \
  && mv "/out/portcullis-$target-unknown-linux-gnu" /out/portcullis \
  && mkdir -p /out/volumes && mkdir -m 0700 /out/volumes/data /out/volumes/workspace

FROM ${RUNTIME_IMAGE}
COPY --from=build /out/portcullis /usr/local/bin/portcullis
# A new volume takes owner and mode from these: a data directory that others could read would be refused.
COPY --from=build --chown=65532:65532 /out/volumes /var/lib/portcullis
ENV HOST=0.0.0.0 PORT=3000 NO_COLOR=1
ENV DATA_DIR=/var/lib/portcullis/data WORKSPACE_DIR=/var/lib/portcullis/workspace
USER 65532:65532
VOLUME ["/var/lib/portcullis/data", "/var/lib/portcullis/workspace"]
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["/usr/local/bin/portcullis", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/portcullis"]
CMD ["serve"]
