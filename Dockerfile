# Both images can be replaced, for example by mirrors: --build-arg BUILD_IMAGE=... --build-arg RUNTIME_IMAGE=...
ARG BUILD_IMAGE=docker.io/denoland/deno:2.9.6@sha256:2014dc167ece617ef7e7ba40631ac2234c59e75ce693e7cc2dc2602b3c87859d
ARG RUNTIME_IMAGE=gcr.io/distroless/cc-debian12:nonroot@sha256:9dac0a79194e45a7da0158a9c6da57b217585af0786db3845d1f0ec1a0dd182f

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
  && PORTCULLIS_COMMIT="$COMMIT" deno task compile --checked --target "$target-unknown-linux-gnu" --out /out \
  && mv "/out/portcullis-$target-unknown-linux-gnu" /out/portcullis \
  && deno install --frozen && deno task release notices /out/THIRD_PARTY_NOTICES.txt \
  && mkdir -p /out/volumes && mkdir -m 0700 /out/volumes/data /out/volumes/workspace

FROM ${RUNTIME_IMAGE}
COPY --from=build /out/portcullis /usr/local/bin/portcullis
COPY --from=build /out/THIRD_PARTY_NOTICES.txt /usr/share/doc/portcullis/THIRD_PARTY_NOTICES.txt
# A new volume takes owner and mode from these: a data directory that others could read would be refused.
COPY --from=build --chown=65532:65532 /out/volumes /var/lib/portcullis
ENV HOST=0.0.0.0 PORT=3000 NO_COLOR=1 container=oci
ENV DATA_DIR=/var/lib/portcullis/data WORKSPACE_DIR=/var/lib/portcullis/workspace
USER 65532:65532
VOLUME ["/var/lib/portcullis/data", "/var/lib/portcullis/workspace"]
EXPOSE 3000
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["/usr/local/bin/portcullis", "healthcheck"]
ENTRYPOINT ["/usr/local/bin/portcullis"]
CMD ["serve"]
