#!/usr/bin/env bash
# Builds the Debian packages of a build folder, looks into them, and runs the program that is in one
# from another folder.
#
#   deb_test.sh BUILD_FOLDER WORK_FOLDER
#
# With FLOWPLAN_TEST_INSTALL=1, as root, flowplan's package is also installed, run and removed again.
# Exit code 77: dpkg is not there.
set -euo pipefail

(($# == 2)) || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(realpath "$1")
rm -rf "$2"
mkdir -p "$2/elsewhere"
work=$(realpath "$2")
for tool in cpack dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
unset FLOWPLAN_CATALOGS

fail() {
  echo "$1"
  exit 1
}

cd "$build"
cpack -G DEB -B "$work" >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; exit 1; }
cd "$work"
program=$(echo flowplan_*.deb) library=$(echo libflowplan-dev_*.deb)
[[ -f $program && -f $library ]] || fail "not both packages were made: $(echo ./*.deb)"

field() { dpkg-deb -f "$1" "$2"; }
[[ $(field "$program" Package) == flowplan ]]
[[ $(field "$program" Depends) == *libfmt* && $(field "$program" Depends) == *libc6* ]] ||
  fail "the dependencies are not those of the program: $(field "$program" Depends)"

dpkg-deb -x "$program" root
for path in bin/flowplan share/flowplan/catalogs/gpus.json \
  share/flowplan/scenarios/pretrain-llama3-70b-p5.json share/man/man1/flowplan.1 \
  share/man/man1/flowplan-run.1 share/man/man1/flowplan-catalog-list.1 \
  share/bash-completion/completions/flowplan share/zsh/vendor-completions/_flowplan \
  share/fish/vendor_completions.d/flowplan.fish share/doc/flowplan/LICENSE; do
  [[ -s root/usr/$path ]] || fail "the package does not hold /usr/$path"
done
[[ ! -e root/usr/include ]] || fail "the program's package holds headers"
dpkg-deb -c "$library" | grep ' ./usr/include/flowplan/base/quantity.hpp$' >/dev/null || fail "no headers"

# From somewhere else, with nothing but what the package holds.
cd elsewhere
run_program() { # FLOWPLAN
  "$1" run --model llama3-70b --instance p5.48xlarge --nodes 64 --tokens 15T >report.txt
  grep -q '^  fits  *yes' report.txt || fail "$(cat report.txt)"
  "$1" init serving fleet.json 2>/dev/null
  "$1" check fleet.json >/dev/null
  "$1" topology --instance p5.48xlarge --nodes 4 --draw cluster.svg >/dev/null
}
run_program "$work/root/usr/bin/flowplan"

if [[ ${FLOWPLAN_TEST_INSTALL-} == 1 ]]; then
  rm -f fleet.json
  dpkg -i "$work/$program"
  trap 'dpkg -r flowplan' EXIT
  run_program flowplan
  man -w flowplan-run >/dev/null
fi
echo "$program: $(($(stat -c %s "$work/$program") / 1024)) KiB, needs $(field "$work/$program" Depends)"
