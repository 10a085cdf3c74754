#!/usr/bin/env bash
# The image step of a release without a network: made from stand-ins for the two base images, published to a registry on
# this machine, and looked at there as the registry of MCP servers does. Needs root, buildah, skopeo, mmdebstrap and
# docker-registry (all in Debian).
set -euo pipefail
cd "$(dirname "$0")/.."
export BUILDAH_ISOLATION=chroot PORTCULLIS_IMAGE=local
version=0.9.0 repository=Someone/portcullis port=39872
work="$(mktemp -d)"
registry=
finish() {
  [ -z "$registry" ] || kill "$registry" 2>/dev/null || true
  rm -rf "$work"
}
trap finish EXIT
said() { echo "ok: $1"; }

bash scripts/build_image.sh # the stand-ins
deno task --quiet release "$version" --repository "$repository" --dist "$work/dist" --only image
[ -s "$work/dist/image.tar" ]
said "made dist/image.tar"

cat >"$work/registry.yml" <<YAML
version: 0.1
log: { level: error }
storage: { filesystem: { rootdirectory: $work/registry } }
http: { addr: "127.0.0.1:$port" }
YAML
docker-registry serve "$work/registry.yml" >"$work/registry.log" 2>&1 &
registry=$!
for _ in $(seq 100); do
  ! curl -fsS "http://127.0.0.1:$port/v2/" >/dev/null 2>&1 || break
  sleep 0.1
done
mkdir -p "$work/home/.config/containers"
cat >"$work/home/.config/containers/registries.conf" <<TOML
[[registry]]
location = "127.0.0.1:$port"
insecure = true
TOML
export HOME="$work/home"
DIST="$work/dist" VERSION="$version" REPOSITORY="$repository" IMAGE_REGISTRY="127.0.0.1:$port" \
  bash scripts/release/publish.sh image
at="docker://127.0.0.1:$port/someone/portcullis"
for tag in "$version" latest; do
  skopeo inspect --format '{{index .Labels "io.modelcontextprotocol.server.name"}} {{index .Labels "org.opencontainers.image.version"}}' \
    "$at:$tag" | grep -qx "io.github.Someone/portcullis $version"
  said "published as $tag, with the name that the registry of MCP servers compares"
done
digest="$(skopeo inspect --raw "oci-archive:$work/dist/image.tar" | sha256sum)"
[ "$(skopeo inspect --raw "$at:$version" | sha256sum)" = "$digest" ]
said "the registry has the bytes that were made"
echo "ok | 4 passed | 0 failed"
