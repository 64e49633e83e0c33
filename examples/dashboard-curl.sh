#!/usr/bin/env bash
# Calls the routes of the upload dashboard of any installation and checks the shape of each answer.
#   API=https://unstuck.example.org TOKEN=<a bearer token> [FILE_ID=<a stuck file>] [RETRY_ALL=yes] examples/dashboard-curl.sh
# It needs bash, curl and node. It changes nothing unless FILE_ID or RETRY_ALL is given. The exit code is 1 when an answer is not as promised.
set -euo pipefail

API=${API:-http://127.0.0.1:3000}
TOKEN=${TOKEN:?set TOKEN to a bearer token}
BASE="$API/api/v2/uploads"
failed=0

# check <name> <expected statuses> <expected fields> <curl arguments …>
check() {
  local name=$1 statuses=$2 fields=$3
  shift 3
  local answer status body missing
  answer=$(curl -sS -m 30 -H "Authorization: Bearer $TOKEN" -w '\n%{http_code} %{time_total}' "$@") || answer=$'\n000 0'
  status=$(tail -n 1 <<<"$answer")
  body=$(sed '$d' <<<"$answer")
  missing=$(FIELDS=$fields node -e '
    const body = JSON.parse(require("node:fs").readFileSync(0, "utf8") || "{}");
    const has = (field) => field.split(".").reduce((at, key) => (at === undefined || at === null ? undefined : at[key]), body) !== undefined;
    process.stdout.write(process.env.FIELDS.split(" ").filter((field) => field && !has(field)).join(" "));
  ' <<<"$body" 2>/dev/null || echo 'JSON')
  if [[ " $statuses " == *" ${status%% *} "* && (${status%% *} != 200 || -z $missing) ]]; then
    echo "ok      $name: $status s"
  else
    echo "FAILED  $name: $status s; missing: ${missing:-nothing}; $body"
    failed=1
  fi
}

check 'dashboard' 200 'statusDistribution activeBatches dlqDepth stuckFiles queueDepths.file-extract queueDepths.file-chunk queueDepths.file-embed recentErrors metrics.throughput24h' "$BASE/dashboard"
check 'stuck files' 200 'files total' "$BASE/stuck"
check 'orphans' 200 'abandonedUploads.count' "$BASE/orphans"
if [[ -n ${FILE_ID:-} ]]; then
  check 'retry of one file' '200 400 409' 'success fileId previousStatus newStatus retryCount' -X POST "$BASE/stuck/$FILE_ID/retry"
else
  check 'retry of a file that is not there' 404 '' -X POST "$BASE/stuck/00000000-0000-7000-8000-000000000000/retry"
fi
if [[ ${RETRY_ALL:-} == yes ]]; then
  check 'retry of all stuck files' 200 'success retriedCount skippedCount errors' -X POST "$BASE/stuck/retry-all"
else
  echo 'skipped retry of all stuck files: set RETRY_ALL=yes to have them retried'
fi
exit $failed
