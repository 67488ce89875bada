#!/bin/sh
# Make sure there is a browser for the browser tests. Never fails: without one they are skipped, and this says so.

found() {
    for name in chromium-headless-shell chromium chromium-browser google-chrome; do
        "$name" --version >/dev/null 2>&1 && return 0  # not `command -v`: a stub may be there and do nothing
    done
    return 1
}

found && exit 0
playwright="${PYTHON:-python3} -m playwright install"
$playwright --list 2>/dev/null | grep -q chromium && exit 0

echo "Looking for a chromium for the browser tests ..."
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    apt-get update -qq >/dev/null 2>&1
    for package in chromium-headless-shell chromium; do  # the first draws no window around the page, at three quarters of the cost
        apt-get install -y -qq $package >/dev/null 2>&1 && found && exit 0
    done
    $playwright --with-deps chromium >/dev/null 2>&1 && exit 0
fi
$playwright chromium >/dev/null 2>&1 && exit 0
echo "The browser tests will be skipped: no chromium on the path, and none could be installed."
