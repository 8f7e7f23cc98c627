#!/usr/bin/env bash
# A schema whose generated part was edited is refused by name; writing it again restores it.
#   schemas_test.sh SOURCE WRITE_SCHEMAS
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$1"/configs/schema/*.json "$folder"
"$2" "$folder" --check
for file in box cluster kernels scenario; do
  sed -i 's/Prologue and epilogue of every tile/Prologue/; s/Tensor-parallel degree/Tensors/; s/Ranks along each side/Sides/' \
    "$folder/$file.schema.json"
  if "$2" "$folder" --check 2>"$folder/errors"; then
    echo "an edited $file.schema.json is accepted" >&2
    exit 1
  fi
  grep -q "$file.schema.json differs" "$folder/errors"
  "$2" "$folder"
  "$2" "$folder" --check
  cmp "$1/configs/schema/$file.schema.json" "$folder/$file.schema.json"
done
