#!/usr/bin/python3
"""Places that do not take the output: full, read-only, too small for such files, in the way."""
import os
import shlex
import shutil
import subprocess

from harness import Done, Place, arguments, check, run_cases, temporary_directory

# Mounts of a namespace of its own: as root, or as root of a namespace of users where the system lets everybody make one.
NAMESPACE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--mount"]


def mounts_missing():
    """Why nothing can be mounted here, or nothing."""
    try:
        done = subprocess.run([*NAMESPACE, "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        return str(missing)
    return done.stderr.strip() if done.returncode else ""


def shell(job, script, wrapper=(), output=None):
    """Runs a script in which $RUN is the job, and tells of it as of a run of the job."""
    run = " ".join(map(shlex.quote, job.command(output=output)))
    words = [*wrapper, "sh", "-c", script.replace("$RUN", run).replace("$WAY_ON", job.place.way_on)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    return Done(words, done.returncode, done.stderr, 0)


def full_disk(place, space):
    """With room for a part only the run fails; with more room the next one makes the output."""
    missing = mounts_missing()
    if missing:
        return f"skipped: nothing can be mounted ({missing})"
    job = place.reshard()
    job.reference().clear()
    mount = place.directory / "small"
    mount.mkdir(exist_ok=True)
    script = f"""mount -t tmpfs -o size={space} none {mount} && cd {mount} || exit 99
        $RUN && exit 98; [ $? = 75 ] || exit 97
        [ -z "$(ls)" ] || [ "$(ls)" = out.partial ] || exit 96
        mount -o remount,size=100m {mount} && $RUN $WAY_ON && [ "$(ls)" = out ] && cp -r out {job.output}"""
    done = shell(job, script, NAMESPACE, "out")
    check(done.status == 0 and job.is_whole(), f"{done}")
    words = ("No space left on device", "are free there")  # the space is looked at before anything is written
    check(len(done.messages) == 1 and any(text in done.messages[0] for text in words), f"not one clear message: {done}")
    return None


def read_only(place):
    missing = mounts_missing()
    if missing:
        return f"skipped: nothing can be mounted ({missing})"
    job = place.merge()
    job.clear()
    top = place.directory
    done = shell(job, f"mount --bind {top} {top} && mount -o remount,bind,ro {top} && $RUN", NAMESPACE)
    job.check_message(done, 1, f"{job.partial}: cannot be made: Read-only file system", "may you write there?")
    return None


def no_permission(place):
    if os.geteuid() == 0:
        return "skipped: nothing is forbidden to root"
    job = place.split()
    job.clear()
    place.directory.chmod(0o555)
    try:
        done = job.run()
    finally:
        place.directory.chmod(0o755)
    job.check_message(done, 1, f"{job.partial}: cannot be made: Permission denied", "may you write there?")
    return None


def small_files(place):
    """`ulimit -f` would end the program by a signal."""
    job = place.merge()
    job.reference().clear()
    done = shell(job, "ulimit -f 4096; $RUN")
    job.check_message(done, 1, f"{job.partial}", "File too large")
    job.check_again()


def in_the_way(place):
    """What appears meanwhile is left alone, and what was made waits for another place."""
    job = place.merge()
    job.clear()
    done = job.run(faults={"at": f"renameat2 1 run echo mine >{job.output}"})
    check(done.status == 1 and "it appeared while the job ran" in done.messages[0], f"{done}")
    check(job.output.read_text() == "mine\n", f"it was written over by {done}")


def replaced(place):
    """A run with --force that fails leaves the output that it was to replace."""
    job = place.split()
    job.reference()
    before = job.digests
    done = job.run(["--force"], {"at": "renameat2 1 5"})
    check(done.status == 1 and job.is_whole() and job.digests == before, f"{done}")
    shutil.rmtree(job.partial)


def main():
    options = arguments(__doc__)
    with temporary_directory() as directory:
        place = Place(options, directory)
        run_cases({
            "a disk that is full at once": lambda: full_disk(place, "64k"),
            "a disk that is full in the middle": lambda: full_disk(place, "12m"),
            "a read-only file system": lambda: read_only(place),
            "a directory without permission": lambda: no_permission(place),
            "a limit on the size of files": lambda: small_files(place),
            "an output that appears meanwhile": lambda: in_the_way(place),
            "an output that cannot be replaced": lambda: replaced(place)})


if __name__ == "__main__":
    main()
