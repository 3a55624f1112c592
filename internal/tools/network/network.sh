#!/bin/bash
# network.sh measures a training and a sweep over networks that lose and delay packets, and cuts each
# part off for a while. Three brokers, a server and two clients are in network namespaces of this
# machine. A program of this folder forwards, delays and drops the packets between them.
#
#   make network          # builds the programs; needs root, ip and /dev/net/tun
#
# STEPS is the number of steps of a client. LOSSES and TRIPS are the settings, in % and in ms, and DELAYS are
# the permissible delays of the trainings. While a part is cut off for AWAY seconds, a client has LONG steps.
set -euo pipefail
program=$(realpath "${1:?the path of proactivedp}")
nats=$(realpath "${2:?the path of nats-server}")
forwarder=$(realpath "${3:?the path of the program that forwards packets}")
here=$(realpath "$(dirname "$0")/../../..")
steps=${STEPS:-300} long=${LONG:-20000} losses=${LOSSES:-0 1 5} trips=${TRIPS:-0 20 100} delays=${DELAYS:-1 20} away=${AWAY:-15}
parts="broker-0 broker-1 broker-2 server client-0 client-1"

missing() { echo "network.sh: missing: $*" >&2; }
[ "$(id -u)" = 0 ] || { missing "root, for network namespaces"; exit 1; }
for tool in ip timeout; do
  command -v $tool >/dev/null || { missing "$tool (iproute2, coreutils)"; exit 1; }
done

work=$(mktemp -d)
tag=pdp$$
clean() {
  for part in $parts; do ip netns pids "$tag-$part" 2>/dev/null | xargs -r kill 2>/dev/null || true; done
  [ -z "${forwarding:-}" ] || kill "$forwarding" 2>/dev/null || true
  wait
  for part in $parts; do ip netns del "$tag-$part" 2>/dev/null || true; done
  rm -rf "$work"
}
trap clean EXIT

ports=() n=0
for part in $parts; do
  n=$((n + 1))
  ip netns add $tag-$part || { missing "network namespaces"; exit 1; }
  ports+=("$tag-$part=10.77.0.$n")
done
coproc "$forwarder" "${ports[@]}"
forwarding=$COPROC_PID

# shape LOSS TRIP [PART] sets the network, and cuts a part off if one is named.
shape() {
  echo "$1 $2 ${3:+$tag-}${3:--}" >&"${COPROC[1]}"
  read -r passed lost <&"${COPROC[0]}" || { missing "the forwarding program"; exit 1; }
  [ -z "${VERBOSE:-}" ] || echo "until now, $passed packets passed and $lost were dropped; now: $*" >&2
}

shape 0 0
for n in "${!ports[@]}"; do
  part=${ports[$n]%=*}
  ip -n "$part" addr add "${ports[$n]#*=}/24" dev wire
  ip -n "$part" link set wire txqueuelen 10000 up
  ip -n "$part" link set lo up
done

# await COMMAND waits for at most a minute until a command succeeds.
await() {
  for _ in $(seq 300); do
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  missing "an end of: $*"
  return 1
}

"$program" keys --clients 2 --host 10.77.0.1,10.77.0.2,10.77.0.3 --dir "$work/keys" >/dev/null
for b in 0 1 2; do
  dir=$work/broker-$b
  mkdir "$dir"
  cp "$work"/keys/{nats.conf,server.crt,server.key} "$dir"
  sed -e "s#store_dir: /data#store_dir: \"$dir/data\"#" -e 's#broker-0.broker#10.77.0.1#' \
    -e 's#broker-1.broker#10.77.0.2#' -e 's#broker-2.broker#10.77.0.3#' "$here/deploy/nats-server.conf" >"$dir/all.conf"
  (cd "$dir" && SERVER_NAME=broker-$b exec ip netns exec $tag-broker-$b "$nats" -c all.conf >log 2>&1) &
done
url=tls://10.77.0.1:4222,tls://10.77.0.2:4222,tls://10.77.0.3:4222
await grep -q 'JetStream cluster new metadata leader\|Self is new JetStream cluster metadata leader' "$work"/broker-{0,1,2}/log

number() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" "$2" | head -1; }

# training NAME STEPS DELAY [PART] trains, cuts a part off if one is named, and prints updates and seconds.
training() {
  local dir=$work/$1 pids=() ended=0
  ip netns exec $tag-server timeout 900 "$program" host --data synth-phishing --clients 2 --sigma 2 --sample-size 20 \
    --grad-computations $((20 * $2)) --delay "$3" --broker $url --creds "$work/keys/server.creds" --dir "$dir" --json \
    >"$dir.json" 2>"$dir.log" &
  pids+=($!)
  for c in 0 1; do
    ip netns exec $tag-client-$c timeout 900 "$program" join $url --client $c --creds "$work/keys/client-$c.creds" \
      --max-epsilon any --dir "$dir-$c" >"$dir-$c.out" 2>"$dir-$c.log" &
    pids+=($!)
  done
  if [ "${4:-nothing}" != nothing ]; then
    await test -s "$dir/server.state"
    shape 0 0 "$4"
    sleep "$away"
    shape 0 0
  fi
  for pid in "${pids[@]}"; do wait "$pid" || ended=$?; done
  if [ $ended != 0 ]; then
    echo "failed with status $ended: $(tail -qn1 "$dir.log" "$dir"-{0,1}.log | tr '\n' ' ')"
    return 1
  fi
  [ "$(number updates "$dir.json")" = $((2 * $2)) ] || { missing "updates in $dir.json"; return 1; }
  echo "$(number updates "$dir.json") $(number seconds "$dir.json")"
}

comparison=(delay --data synth-phishing --sample-size 20 --grad-computations 2000 --delta 1e-4 --delays 1,2,3,4 --seeds 5)
"$program" "${comparison[@]}" --out "$work/here" >"$work/here.out" 2>&1
(cd "$work/here" && sha256sum */data.csv) >"$work/here.sums"

# sweep NAME lets both clients' machines compute a comparison, and prints its cells and seconds. Its results
# must be those of one machine.
sweep() {
  local dir=$work/$1 pids=() begun
  for c in 0 1; do
    ip netns exec $tag-client-$c "$program" worker $url --creds "$work/keys/worker.creds" --workers 1 >"$dir-$c.log" 2>&1 &
    pids+=($!)
  done
  begun=$(date +%s.%N)
  ip netns exec $tag-server timeout 900 "$program" "${comparison[@]}" --out "$dir" --workers-at $url --creds "$work/keys/server.creds" >"$dir.out" 2>"$dir.log" || {
    echo "failed: $(tail -n1 "$dir.log")"
  }
  echo "$(grep -c 'msg="a cell is done"' "$dir.log") $(date +%s.%N) $begun" | awk '{print $1, $2 - $3}'
  kill "${pids[@]}"
  wait "${pids[@]}" || true
  (cd "$dir" && sha256sum */data.csv) >"$dir.sums"
  cmp -s "$dir.sums" "$work/here.sums" || { missing "the results of one machine: $dir.sums"; return 1; }
}

rate() { awk '{ if ($2 > 0) printf "%.1f", $1 / $2; else print "-" }'; }

failed=0
echo "| loss, % | round trip, ms |$(printf ' updates a second, delay %s |' $delays) cells a second |"
echo "|---|---|$(printf -- '---|%.0s' $delays)---|"
for loss in $losses; do
  for trip in $trips; do
    shape "$loss" "$trip"
    row="| $loss | $trip |"
    for delay in $delays; do
      t=$(training "run-$loss-$trip-$delay" "$steps" "$delay") || { failed=1; echo "$t" >&2; }
      row+=" $(rate <<<"$t") |"
    done
    s=$(sweep "sweep-$loss-$trip") || failed=1
    echo "$row $(rate <<<"$s") |"
  done
done
shape 0 0
echo
echo "| cut off for $away s | seconds for $((2 * long)) updates |"
echo "|---|---|"
for part in nothing $parts; do
  t=$(training "cut-$part" "$long" 1 "$part") || { failed=1; echo "$t" >&2; }
  echo "| $part | $(awk '{printf "%.0f", $2}' <<<"$t") |"
  sleep "$away" # until the brokers have chosen their leaders again
done
exit $failed
