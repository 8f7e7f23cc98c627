#!/usr/bin/env bash
# A schema that was edited is refused by name; writing it again restores it.
#   schemas_test.sh SOURCE WRITE_SCHEMAS
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$1"/configs/schema/*.json "$folder"
"$2" "$folder" --check
for file in $(cd "$1/configs/schema" && ls); do
  sed -i '0,/"type": "object"/s//"type": "array"/' "$folder/$file"
  if "$2" "$folder" --check 2>"$folder/errors"; then
    echo "an edited $file is accepted" >&2
    exit 1
  fi
  grep -q "$file differs" "$folder/errors"
  "$2" "$folder"
  "$2" "$folder" --check
  cmp "$1/configs/schema/$file" "$folder/$file"
done
