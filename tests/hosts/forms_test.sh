#!/usr/bin/env bash
# forms_test.sh BIN: checkpoints of which each host has its own files, under one path: each form is merged exactly, or the error says what is
# missing where, and its remedy helps. Exit status: 0 all as expected, 77 skipped (no namespaces here), 1 otherwise.
# shellcheck source=tests/hosts/cases.sh
source "$(dirname "${BASH_SOURCE[0]}")/cases.sh"
golden=$here/../golden
export PATH=$here/../cli/bin:$PATH
{ make_dcp && make_megatron && make_deepspeed && make_paddle; } >make.log

apart() {  # apart DIRECTORY OF_H2 [OF_BOTH]: whose files match OF_H2 lies on h2, OF_BOTH on both hosts, else on h1
  local file host
  for host in h1 h2; do
    rm -rf "local.$host/$1"
    cp -pr "$1" "local.$host/$1"
  done
  while read -r file; do
    [[ -n ${3:-} && $file =~ $3 ]] && continue
    if [[ $file =~ $2 ]]; then rm "local.h1/$file"; else rm "local.h2/$file"; fi
  done < <(find "$1" -type f)
}
merged() {  # merged HOSTS DIRECTORY [WORDS...]: is it what one host makes of all files?
  local hosts=$1 directory=$2
  shift 2
  ckpt-merge -q --force "$@" "$directory" -o whole.h5 && on "$hosts" ckpt-merge --force "$@" "local/$directory" -o merged.h5 && cmp whole.h5 merged.h5
}
lies_apart() {  # lies_apart DIRECTORY TEXT [WORDS...]: the error has the TEXT; with the files copied, as it says, all is well
  local directory=$1 text=$2 host other
  shift 2
  expect "$directory: what is missing, and where" 1 "$text" merged h1:1,h2:1 "$directory" "$@"
  grep -o 'on h[12]: rsync -a h[12]:[^ ]* [^ ,]*' said.log | sed "s,$work/local,local,g" >remedies
  while read -r _ host _ _ other _; do
    host=${host%:}
    cp -pr "local.${other%%:*}/$directory/." "local.$host/$directory/"
  done <remedies
  expect "$directory: with the files copied" 0 "" merged h1:1,h2:1 "$directory" "$@"
  expect "$directory: also if h2 begins" 0 "" merged h2:1,h1:1 "$directory" "$@"
}

cp -pr "$golden/torch/2.15/ranks" fsdp && apart fsdp rank_1
expect "FSDP: each rank's own file" 0 "" merged h2:1,h1:1 fsdp
cp -pr "$golden/mindspore/mesh2x4" mindspore && apart mindspore 'rank_[4-7]/'
expect "MindSpore: ranks' folders" 0 "" merged h1:1,h2:1 mindspore --layout mindspore/strategy.ckpt
apart zero0 rank_1
expect "DeepSpeed, one file for all" 0 "" merged h2:1,h1:1 zero0
apart dcp __1_
lies_apart dcp "h2 has 1 file that h1 lacks: __1_0.distcp"
apart alone __1
lies_apart alone "h2 has 2 files that h1 lacks: __1.metadata, __1_0.distcp"
apart run __1_
lies_apart run "h2 has 1 file that h1 lacks: iter_0000010/__1_0.distcp"
for stage in 1 3; do
  apart "zero$stage" rank_1_ latest
  lies_apart "zero$stage" "that h1 lacks: global_step2/bf16_zero_pp_rank_1_mp_rank_00_"
done
mv src paddle && apart paddle 'part-00[23]'
lies_apart paddle "h1 has 6 files that h2 lacks: 000/part-000-00000, 000/part-000-00001" --layout ps4.json
apart paddle none 'part-00[01]'
lies_apart paddle "h1 has 4 files that h2 lacks: 000/part-002-00006, 000/part-002-00007" --layout ps4.json
touch -d 2020-01-01 local.h2/paddle/000/part-001-00003
either() {  # either TEXT STATUS COMMAND...: the same, whichever host begins
  local text=$1 status=$2
  shift 2
  expect "$text" "$status" "$text" on h1:1,h2:1 "$@"
  expect "the same if h2 begins" "$status" "$text" on h2:1,h1:1 "$@"
}
sees=" sees the version of 2020-01-01 00:00:00.000000000 UTC, expected the same file wherever it is seen"
expect "a shard that is older on h2" 75 "process 1 (h2)$sees" on h1:1,h2:1 ckpt-merge --layout ps4.json local/paddle -o older.h5
expect "the same if h2 begins" 75 "process 0 (h2)$sees" on h2:1,h1:1 ckpt-merge --layout ps4.json local/paddle -o older.h5

# One file stands for the directory: a host that has all others reads it.
cp -pr "$golden/orbax/plain" orbax
sed -i 's/"store_array_data_equal_to_fill_value": true/"store_array_data_equal_to_fill_value": false/' orbax/_METADATA  # missing ones read as zeros
apart orbax none 'w_data/|w_both/[01]|_METADATA'
for first in h1:1,h2:1 h2:1,h1:1; do expect "Orbax, incomplete on h2: $first" 0 "" merged "$first" orbax; done
apart orbax 'w_both/[23]' _METADATA
either "orbax: no host sees all of its files: h2 has 2 files that h1 lacks: w_both/2.0, w_both/3.0, expected all of them on one host" 1 \
  ckpt-merge local/orbax -o orbax.h5

# One path that means two steps, by links or by files, is no checkpoint.
"$sample" -o job --mesh dp=2,tp=2 --bytes 1MB >sample.log
declare -A step=([h1]=step_100 [h2]=step_200)
for host in h1 h2; do
  mkdir -p "local.$host/steps/${step[$host]}/data" && ln -s "${step[$host]}" "local.$host/steps/latest"
  cp -p job/rank_*.h5 "local.$host/steps/latest/" && cp -p job/rank_*.h5 "local.$host/steps/latest/data/"
done
for path in latest latest/ latest/data; do
  expect "a link to two steps: $path" 1 "it means step step_100 for process 0 (h1) and step_200 for process 1 (h2)" \
    on h1:1,h2:1 ckpt-merge --layout job.json "local/steps/$path" -o steps.h5
done
# Whatever they are called.
for host in h1 h2; do
  mkdir "local.$host/runs" && mv "local.$host/steps/${step[$host]}" "local.$host/runs/of_$host" && ln -s "of_$host" "local.$host/runs/cur"
done
for path in cur cur/data; do
  expect "a link to two directories: $path" 1 "it means step of_h1 for process 0 (h1) and of_h2 for process 1 (h2)" \
    on h1:1,h2:1 ckpt-merge --layout job.json "local/runs/$path" -o steps.h5
done
mkdir h1.disk h2.disk && for host in h1 h2; do cp -pr "local.$host/runs/of_$host" "$host.disk/model" && ln -s "$work/$host.disk" "local.$host/disk"; done
expect "a link to each host's own disk" 0 "wrote disks.h5" on h1:1,h2:1 ckpt-merge --layout job.json local/disk/model -o disks.h5

# Two files of one name, size and time: nothing but their content tells them apart.
for host in h1 h2; do mkdir "local.$host/alike" && cp -p job/rank_*.h5 "local.$host/alike/"; done
alike=(ckpt-merge --force --layout job.json local/alike -o alike.h5)
expect "copies of one file" 0 "wrote alike.h5" on h1:1,h2:1 "${alike[@]}"
time_of=$(stat -c %y job/rank_3.h5)
printf 'another' | dd of=local.h2/alike/rank_3.h5 bs=1 seek=$(($(stat -c %s job/rank_3.h5) - 7)) conv=notrunc status=none
touch -d "$time_of" local.h2/alike/rank_3.h5
expect "another file in the place of one" 1 "rank_3.h5: it has the same size and time on h1 and h2, and another content" on h1:1,h2:1 "${alike[@]}"
# A file's metadata is of the version that process 0 sees.
for host in h1 h2; do cp -p alike.h5 "local.$host/one.h5"; done
touch -d 2020-01-01 local.h2/one.h5
expect "an older copy where the job begins" 75 "one.h5: process 1 (h1) sees the version of" on h2:1,h1:1 ckpt-split --to job.json local/one.h5 -o split
expect "where that one is" 75 ", process 0 (h2)$sees" on h2:1,h1:1 ckpt-split --to job.json local/one.h5 -o split
expect "an older copy elsewhere" 0 "only the newest is read" on h1:1,h2:1 ckpt-split --to job.json local/one.h5 -o split
rm local.h2/alike/rank_3.h5
expect "with that one removed" 0 "wrote alike.h5" on h1:1,h2:1 "${alike[@]}"
((failures == 0))
