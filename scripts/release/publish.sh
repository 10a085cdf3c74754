#!/usr/bin/env bash
# Uploads what `deno task release VERSION` made, from the directory that has it (dist, or what the workflow unpacked):
#   VERSION=1.2.3 REPOSITORY=OWNER/NAME scripts/release/publish.sh STEP
# image (to ghcr.io), release (GitHub), npm, registry (of MCP servers): in this order, so that none names what is not
# there. It runs nothing that was built. DIST names the directory; NPM_REGISTRY another registry than npm's,
# IMAGE_REGISTRY another than ghcr.io.
set -euo pipefail
: "${VERSION:?}" "${REPOSITORY:?}"
cd "${DIST:-dist}"

check_sums() (
  cd assets
  sha256sum --check --strict --quiet SHA256SUMS
  [ "$(find . -type f | wc -l)" = "$(($(wc -l <SHA256SUMS) + 1))" ] || {
    echo "error: assets has files that SHA256SUMS does not name" >&2
    exit 1
  }
)

case "${1:-}" in
  image)
    name="${IMAGE_REGISTRY:-ghcr.io}/${REPOSITORY,,}"
    for tag in "$VERSION" latest; do
      skopeo copy --all --preserve-digests oci-archive:image.tar "docker://$name:$tag"
    done
    ;;
  release)
    check_sums
    gh release create "v$VERSION" --repo "$REPOSITORY" --verify-tag --title "v$VERSION" --notes-file notes.md assets/*
    ;;
  npm)
    arguments=(--access public --registry "${NPM_REGISTRY:-https://registry.npmjs.org/}")
    [ -z "${GITHUB_ACTIONS:-}" ] || arguments+=(--provenance)
    npm publish "${arguments[@]}" "./npm/portcullis-mcp-$VERSION.tgz" # a path without its dot would name a repository
    ;;
  registry)
    mcp-publisher publish
    ;;
  *)
    echo "error: say image, release, npm or registry" >&2
    exit 2
    ;;
esac
