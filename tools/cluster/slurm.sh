#!/bin/sh
# Run a command with a Slurm of one node on this machine (Debian, as root:
# slurm-wlm, munge):
#   tools/cluster/slurm.sh Rscript tools/cluster/run.R
# The daemons run in their own folder and end with the command; /etc is not
# changed.
set -eu
for program in munged slurmctld slurmd sbatch; do
  command -v "$program" > /dev/null || PATH="$PATH:/usr/sbin"
done
for program in munged slurmctld slurmd sbatch; do
  command -v "$program" > /dev/null || {
    echo "missing: $program (apt-get install slurm-wlm munge)" >&2
    exit 1
  }
done

folder=$(mktemp -d /tmp/kb-slurm.XXXXXX)
chmod 755 "$folder"
mkdir "$folder/state" "$folder/spool" "$folder/munge"
host=$(hostname -s)
stop() {
  scancel --user "$(id -un)" --partition all 2> /dev/null || true
  sleep 4
  for file in "$folder"/*.pid; do
    [ -f "$file" ] && kill "$(cat "$file")" 2> /dev/null || true
  done
  sleep 1
  rm -rf "$folder"
}
trap stop EXIT INT TERM

# Munge authenticates the parts of Slurm to each other.
dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 2> /dev/null
chmod 400 "$folder/munge/key"
chmod 700 "$folder/munge"
munged --force --key-file="$folder/munge/key" --socket="$folder/munge.socket" \
  --pid-file="$folder/munge.pid" --log-file="$folder/munge/log" \
  --seed-file="$folder/munge/seed"

cat > "$folder/slurm.conf" << END
ClusterName=kb
SlurmctldHost=$host
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge.socket
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
ReturnToService=2
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MinJobAge=300
KillWait=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
export SLURM_CONF="$folder/slurm.conf"
slurmctld -f "$SLURM_CONF"
slurmd -f "$SLURM_CONF" -N "$host"
for wait in 1 2 3 4 5 6 7 8 9 10; do
  sinfo --noheader --format=%t 2> /dev/null | grep -q idle && break
  sleep 1
done
sinfo || { tail "$folder"/*.log; exit 1; }

# future.batchtools asks sacct for the state of a job, which needs a database
# of accounts: here the controller answers, which knows jobs for MinJobAge
# seconds after their end.
mkdir "$folder/bin"
cat > "$folder/bin/sacct" << 'END'
#!/bin/sh
for word; do
  case "$word" in --jobs=*) job=${word#--jobs=} ;; esac
done
scontrol --oneliner show job "$job" 2> /dev/null |
  sed -n 's/.*JobState=\([A-Z_]*\).*/\1/p'
END
chmod 755 "$folder/bin/sacct"
PATH="$folder/bin:$PATH" "$@"
