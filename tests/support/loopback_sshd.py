"""Runs a real sshd on a loopback port for one test, until the standard input ends.

    loopback_sshd.py FOLDER     writes FOLDER/config and FOLDER/sshd.pid, and prints "ready"

With `ssh -F FOLDER/config HOST`, HOST is gpu-box, or what a user meets: no-key (the server knows none of our keys) and
new-host (its host key is not known here). sshd need not be installed, since Debian's package would serve the whole
machine: it is unpacked from the package, into $NORMLENS_DEPS/sshd. Exits 77 where that is not possible.
"""

import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import time

DEPS = pathlib.Path(os.environ.get("NORMLENS_DEPS", pathlib.Path.home() / ".cache" / "normlens"))
NOT_POSSIBLE = 77


def refuse(why):
    print(f"no sshd: {why}", file=sys.stderr)
    sys.exit(NOT_POSSIBLE)


def unpacked():
    """Returns the path of sshd from Debian's package."""
    folder = DEPS / "sshd"
    program = folder / "usr/sbin/sshd"
    if program.exists():
        return program
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        refuse("it is not installed, and this is not Debian")
    new = folder.with_suffix(f".{os.getpid()}")
    new.mkdir(parents=True)
    try:
        subprocess.run(["apt-get", "-q", "download", "openssh-server", "libwrap0"], cwd=new, check=True,
                       stdout=subprocess.DEVNULL)
        for package in new.glob("*.deb"):
            subprocess.run(["dpkg", "-x", package, new], check=True)
        new.rename(folder)
    except (subprocess.CalledProcessError, OSError) as error:
        if not program.exists():  # another test may have been first
            refuse(f"its package cannot be fetched: {error}")
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return program


def key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)
    return path.with_suffix(".pub").read_text()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_configs(folder, port):
    host_key = key(folder / "host_key")
    (folder / "authorized_keys").write_text(key(folder / "user_key"))
    key(folder / "other_key")
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}")
    (folder / "empty").touch()
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized_keys\n"
        f"PidFile {folder}/sshd.pid\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n")
    hosts = (("gpu-box", "user_key", "known_hosts"), ("no-key", "other_key", "known_hosts"),
             ("new-host", "user_key", "empty"))
    (folder / "config").write_text("".join(
        f"Host {name}\n HostName 127.0.0.1\n Port {port}\n IdentitiesOnly yes\n IdentityAgent none\n"
        f" IdentityFile {folder}/{identity}\n UserKnownHostsFile {folder}/{known}\n GlobalKnownHostsFile /dev/null\n"
        for name, identity, known in hosts))


def has_user(name):
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


def command(program, folder):
    """Returns the words that start sshd. As root it wants a user and a folder of its own: it gets them in a mount
    namespace, so that the machine stays as it is."""
    serve = f"exec '{program}' -D -e -f '{folder}/sshd_config'"
    if os.geteuid() != 0 or (has_user("sshd") and os.path.isdir("/run/sshd")):
        return ["sh", "-c", serve]
    users = folder / "passwd"
    users.write_text(pathlib.Path("/etc/passwd").read_text() + "sshd:x:65000:65000::/run/sshd:/usr/sbin/nologin\n")
    private = f"mount --bind '{users}' /etc/passwd && mount -t tmpfs none /run && mkdir -m 755 /run/sshd && {serve}"
    return ["unshare", "--mount", "sh", "-c", private]


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    if not shutil.which("ssh") or not shutil.which("ssh-keygen"):
        refuse("ssh is not installed")
    program = pathlib.Path(shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin") or unpacked())
    write_configs(folder, free_port())
    libraries = ":".join(str(each) for each in (DEPS / "sshd").glob("**/x86_64-linux-gnu"))
    log = open(folder / "sshd.log", "w", encoding="utf-8")
    server = subprocess.Popen(command(program, folder), env={**os.environ, "LD_LIBRARY_PATH": libraries},
                              stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    for _ in range(100):
        if (folder / "sshd.pid").exists() or server.poll() is not None:
            break
        time.sleep(0.1)
    if server.poll() is not None:
        refuse((folder / "sshd.log").read_text())
    print("ready", flush=True)
    sys.stdin.read()
    server.terminate()
    server.wait()


if __name__ == "__main__":
    main()
