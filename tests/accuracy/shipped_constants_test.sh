#!/bin/sh
# The shipped constants of collectives, their bands and the table of left-out errors are what
# `scripts/fit-constants` makes of the project's own rows.
# usage: shipped_constants_test.sh FLOWPLAN SOURCE WORK
set -eu
flowplan=$1 source=$2 work=$3
rm -rf "$work"
mkdir -p "$work/tests/accuracy" "$work/scripts"
cp -R "$source/catalogs" "$work/"
cp -R "$source/tests/accuracy/fit-starts" "$source/tests/accuracy/collectives.csv" "$work/tests/accuracy/"
cp "$source/scripts/fit-constants" "$work/scripts/"
"$work/scripts/fit-constants" "$flowplan" > "$work/log"
diff -r "$source/catalogs/constants" "$work/catalogs/constants"
diff "$source/tests/accuracy/collectives-left-out.csv" "$work/tests/accuracy/collectives-left-out.csv"
