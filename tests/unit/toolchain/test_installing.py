"""Toolchains are there and whole, or not there: from archives, from folders; what is refused."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.unit.toolchain.archives import Keys, Mirror, write_package
from visim.errors import ArgumentError, InstallError, ToolMissing
from visim.toolchain import packages, tools
from visim.toolchain.archive import Archive
from visim.toolchain.components import COMPILER, LEGACY
from visim.toolchain.installed import Damaged, in_use, installed, newest, survey
from visim.toolchain.installing import PackageFolder, install, remove


def archive(mirror: Mirror, **options) -> Archive:
    return Archive(mirror.url, keyring=mirror.keys.keyring, **options)


def left_in(home: Path) -> list[str]:
    """Return what is in the folder of all toolchains, but for the lock."""
    return sorted(path.name for path in home.glob("*") if path.name != ".lock") + [
        path.name for path in home.glob(".stage-*")
    ]


def refused(home: Path, source, message: str) -> None:
    with pytest.raises(InstallError, match=message):
        install(COMPILER, source)
    assert left_in(home) == []


class TestArchives:
    def test_what_is_installed_is_whole(self, home: Path, mirror: Mirror):
        steps: list[str] = []
        made, was_there = install(COMPILER, archive(mirror), say=steps.append)
        assert (made.name, made.version, was_there) == ("compiler-26.1-1", "26.1-1", False)
        assert made.library.is_file()
        assert (made.folder / "lib" / "libocloc.so").samefile(made.library)
        assert os.access(made.folder / "bin" / "ocloc", os.X_OK)
        assert {entry.name for entry in made.packages} >= {"intel-ocloc", "libc6"}
        assert "signature checked with keyring.gpg" in made.origin
        assert installed() == (made,)
        assert left_in(home) == ["compiler-26.1-1"]
        assert steps[0].startswith("reading the index")

    def test_its_programs_run_with_its_own_loader(self, home: Path, mirror: Mirror):
        made, _ = install(COMPILER, archive(mirror))
        script = (made.folder / "bin" / "iga64").read_text()
        assert '/root"\n' not in script
        moved = made.folder.rename(made.folder.with_name("compiler-moved"))
        words = [moved / "bin" / "iga64"]
        ended = subprocess.run(words, check=False, capture_output=True, text=True)
        assert "root/usr/bin/iga64" in ended.stderr  # it is no program, which the loader says

    def test_the_same_version_is_not_installed_twice(self, home: Path, mirror: Mirror):
        first, _ = install(COMPILER, archive(mirror))
        again, was_there = install(COMPILER, archive(mirror))
        assert (again, was_there) == (first, True)

    def test_a_newer_version_is_beside_the_older_and_first(self, home: Path, mirror: Mirror):
        install(COMPILER, archive(mirror))
        mirror.publish("26.2-1")
        install(COMPILER, archive(mirror))
        mirror.publish("26.10-1")
        install(COMPILER, archive(mirror))
        found = newest(COMPILER)
        assert found is not None
        assert found.name == "compiler-26.10-1"
        assert len(installed()) == 3

    def test_a_changed_package_is_refused(self, home: Path, mirror: Mirror):
        [file] = mirror.pool.glob("libigc2_*")
        data = bytearray(file.read_bytes())
        data[-100] ^= 1
        file.write_bytes(data)
        refused(home, archive(mirror), "Hash Sum mismatch")

    def test_a_changed_index_is_refused(self, home: Path, mirror: Mirror):
        mirror.index.with_suffix(".gz").unlink()
        mirror.index.write_text(mirror.index.read_text().replace("26.1-1", "26.2-1"))
        refused(home, archive(mirror), "apt-get update failed: .*(Hash Sum|unexpected size)")

    def test_a_signature_of_somebody_else_is_refused(
        self, home: Path, mirror: Mirror, tmp_path: Path
    ):
        other = Keys(tmp_path / "o")
        try:
            source = Archive(mirror.url, keyring=other.keyring)
            refused(home, source, r"not signed|couldn't be verified|NO_PUBKEY")
        finally:
            other.end()

    def test_an_archive_without_a_signature_is_refused(self, home: Path, mirror: Mirror):
        signed = mirror.suite / "InRelease"
        lines = signed.read_text().splitlines()
        start, end = lines.index(""), lines.index("-----BEGIN PGP SIGNATURE-----")
        (mirror.suite / "Release").write_text("\n".join(lines[start + 1 : end]) + "\n")
        signed.unlink()
        refused(home, archive(mirror), "not signed")

    def test_a_changed_release_is_refused(self, home: Path, mirror: Mirror):
        signed = mirror.suite / "InRelease"
        signed.write_text(signed.read_text().replace("Codename: sid", "Codename: sad"))
        refused(home, archive(mirror), "apt-get update failed")

    def test_an_expired_index_is_refused_unless_it_is_wanted(
        self, home: Path, mirror: Mirror, monkeypatch
    ):
        monkeypatch.setattr("visim.toolchain.archive._system_settings", list)
        mirror.release("Sun, 02 Jan 2022 00:00:00 UTC")
        refused(home, archive(mirror), "expired")
        install(COMPILER, archive(mirror, allow_expired=True))

    def test_a_package_that_is_not_there_is_named(self, home: Path, mirror: Mirror):
        with pytest.raises(InstallError, match="intel-ocloc-legacy"):
            install(LEGACY, archive(mirror))

    def test_an_archive_that_is_not_there_is_a_sentence(self, home: Path, mirror: Mirror):
        shutil.rmtree(mirror.suite)
        refused(home, archive(mirror), "apt-get update failed: .*does not have a Release file")

    def test_a_network_that_is_closed_is_a_sentence(self, home: Path, keys: Keys):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}/debian"
            source = Archive(url, keyring=keys.keyring)
            with pytest.MonkeyPatch.context() as patch:
                patch.delenv("http_proxy", raising=False)
                refused(home, source, "refused|Could not connect|Cannot initiate")

    @pytest.mark.parametrize("url", ["ftp://x/debian", "http://x/debian sid main", "/nowhere"])
    def test_what_is_no_url_is_an_argument_error(self, url: str, keys: Keys):
        with pytest.raises(ArgumentError, match="mirror: expected the http, https or file URL"):
            Archive(url, keyring=keys.keyring)

    def test_a_keyring_that_is_not_there_says_which_package_has_it(self):
        with pytest.raises(ArgumentError, match="debian-archive-keyring"):
            Archive("http://x/debian", keyring=Path("/nowhere.gpg"))


class TestFolders:
    def test_packages_of_a_folder_will_do(self, home: Path, all_packages: Path):
        made, _ = install(COMPILER, PackageFolder(all_packages))
        assert made.origin.endswith("(checked against nothing)")

    def test_what_one_machine_saves_another_installs(
        self, home: Path, mirror: Mirror, tmp_path: Path, monkeypatch
    ):
        install(COMPILER, archive(mirror), save=tmp_path / "saved")
        monkeypatch.setenv("VISIM_DATA_DIR", str(tmp_path / "other"))
        made, was_there = install(COMPILER, PackageFolder(tmp_path / "saved"))
        assert not was_there
        assert made.origin.endswith("(checked against SHA256SUMS)")

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("intel-ocloc", "has no package intel-ocloc"),
            ("libc6", "no C library"),
        ],
    )
    def test_what_is_missing_is_named(
        self, home: Path, all_packages: Path, tmp_path: Path, name: str, message: str
    ):
        folder = copied(all_packages, tmp_path)
        next(folder.glob(f"{name}_*")).unlink()
        refused(home, PackageFolder(folder), message)

    def test_a_library_that_lacks_another_is_named(
        self, home: Path, all_packages: Path, tmp_path: Path
    ):
        folder = copied(all_packages, tmp_path)
        next(folder.glob("libigc2_*")).unlink()
        library = Path("/usr/lib/x86_64-linux-gnu/libstdc++.so.6").read_bytes()
        files = {"usr/lib/x86_64-linux-gnu/libigc.so.2": library}
        write_package(folder, "libigc2", "2.0-2", "", files)
        refused(home, PackageFolder(folder), r"libigc\.so\.2 cannot be loaded: libgcc_s\.so\.1")

    def test_a_damaged_package_is_named(self, home: Path, all_packages: Path, tmp_path: Path):
        folder = copied(all_packages, tmp_path)
        file = next(folder.glob("libigdfcl2_*"))
        file.write_bytes(file.read_bytes()[:3000])
        refused(home, PackageFolder(folder), "libigdfcl2_2.0-1_amd64.deb")

    def test_what_is_no_package_is_named(self, home: Path, all_packages: Path, tmp_path: Path):
        folder = copied(all_packages, tmp_path)
        (folder / "x.deb").write_text("nothing")
        refused(home, PackageFolder(folder), r"x\.deb: not a Debian package, or damaged")

    def test_two_versions_of_one_package_are_refused(
        self, home: Path, all_packages: Path, tmp_path: Path
    ):
        folder = copied(all_packages, tmp_path)
        write_package(folder, "libigc2", "3.0-1", "", {})
        refused(home, PackageFolder(folder), "two versions of libigc2: .*; leave one")

    def test_a_package_for_another_machine_is_refused(
        self, home: Path, all_packages: Path, tmp_path: Path
    ):
        folder = copied(all_packages, tmp_path)
        write_package(folder, "libother", "1", "", {}, architecture="arm64")
        refused(home, PackageFolder(folder), "for amd64, found one for arm64")

    def test_hashes_beside_packages_are_checked(
        self, home: Path, all_packages: Path, tmp_path: Path
    ):
        folder = copied(all_packages, tmp_path)
        files = sorted(folder.glob("*.deb"))
        found = [packages.read_package(file).package for file in files]
        text = packages.sums(found, [file.name for file in files])
        (folder / "SHA256SUMS").write_text(text)
        digest = found[0].sha256
        (folder / "SHA256SUMS").write_text(text.replace(digest, "0" * 64))
        refused(home, PackageFolder(folder), f"{files[0].name}: damaged or replaced")
        (folder / "SHA256SUMS").write_text(text.replace(files[0].name, "x.deb"))
        refused(home, PackageFolder(folder), "does not list it")

    def test_what_is_no_folder_is_an_argument_error(self, home: Path, tmp_path: Path):
        with pytest.raises(ArgumentError, match="not a folder of packages"):
            install(COMPILER, PackageFolder(tmp_path / "nowhere"))


class TestWholeness:
    def test_a_full_disk_leaves_nothing(self, home: Path, all_packages: Path, monkeypatch):
        def unpack(package, root):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(root))

        monkeypatch.setattr(packages, "unpack", unpack)
        refused(home, PackageFolder(all_packages), "No space left on device; a compiler takes 400")

    def test_a_folder_that_cannot_be_written_is_a_sentence(
        self, all_packages: Path, tmp_path: Path, monkeypatch
    ):
        (tmp_path / "file").touch()
        monkeypatch.setenv("VISIM_DATA_DIR", str(tmp_path / "file"))
        with pytest.raises(InstallError, match="Not a directory"):
            install(COMPILER, PackageFolder(all_packages))

    def test_an_interrupt_leaves_nothing(self, home: Path, all_packages: Path, monkeypatch):
        def unpack(package, root):
            raise KeyboardInterrupt

        monkeypatch.setattr(packages, "unpack", unpack)
        with pytest.raises(KeyboardInterrupt):
            install(COMPILER, PackageFolder(all_packages))
        assert left_in(home) == []

    def test_what_a_killed_one_left_is_removed(self, home: Path, all_packages: Path):
        half = home / ".stage-dead" / "new" / "root"
        half.mkdir(parents=True)
        half.chmod(0o500)
        assert installed() == ()
        install(COMPILER, PackageFolder(all_packages))
        assert left_in(home) == ["compiler-26.1-1"]

    def test_two_at_a_time_install_it_once(self, home: Path, all_packages: Path):
        steps: list[str] = []
        with ThreadPoolExecutor(2) as pool:
            source = PackageFolder(all_packages)
            jobs = [pool.submit(install, COMPILER, source, say=steps.append) for _ in range(2)]
            assert sorted(job.result()[1] for job in jobs) == [False, True]
        assert any("waiting for its end" in step for step in steps)

    def test_a_damaged_one_is_named_and_made_anew(self, home: Path, all_packages: Path):
        made, _ = install(COMPILER, PackageFolder(all_packages))
        made.library.unlink()
        [entry] = survey()
        assert entry == Damaged(made.folder, "libocloc.so is missing")
        assert installed() == ()
        again, was_there = install(COMPILER, PackageFolder(all_packages))
        assert (again.name, was_there) == (made.name, False)

    @pytest.mark.parametrize(
        ("record", "problem"),
        [
            ("", "not JSON"),
            ("[]", "not a record"),
            ('{"format": 2}', "not a record"),
            ('{"format": 1, "component": "compiler", "packages": [[1]]}', "not a record"),
        ],
    )
    def test_a_record_that_is_none_is_damage(
        self, home: Path, all_packages: Path, record: str, problem: str
    ):
        made, _ = install(COMPILER, PackageFolder(all_packages))
        (made.folder / "toolchain.json").write_text(record)
        [entry] = survey()
        assert isinstance(entry, Damaged)
        assert problem in entry.problem
        assert remove([made.name]) == (made.name,)

    def test_a_path_that_the_loader_cannot_take_is_refused(
        self, all_packages: Path, tmp_path: Path, monkeypatch
    ):
        monkeypatch.setenv("VISIM_DATA_DIR", str(tmp_path / "a:b"))
        with pytest.raises(ArgumentError, match="the loader cannot take a path with"):
            install(COMPILER, PackageFolder(all_packages))

    def test_a_missing_program_says_which_package_has_it(
        self, home: Path, all_packages: Path, monkeypatch
    ):
        monkeypatch.setattr(tools.shutil, "which", lambda program, path: None)
        with pytest.raises(ToolMissing, match="dpkg-deb is not installed; the package dpkg"):
            install(COMPILER, PackageFolder(all_packages))
        assert left_in(home) == []


class TestRemoval:
    def test_a_components_name_stands_for_its_only_version(self, home: Path, all_packages: Path):
        install(COMPILER, PackageFolder(all_packages))
        assert remove(["compiler"]) == ("compiler-26.1-1",)
        assert left_in(home) == []
        with pytest.raises(ArgumentError, match="none is installed"):
            remove(["compiler"])

    def test_of_several_versions_one_is_named(self, home: Path, mirror: Mirror):
        install(COMPILER, archive(mirror))
        mirror.publish("26.2-1")
        install(COMPILER, archive(mirror))
        with pytest.raises(ArgumentError, match=r"say which: compiler-26\.1-1, compiler-26\.2-1"):
            remove(["compiler"])
        assert remove(["compiler-26.1-1"]) == ("compiler-26.1-1",)

    def test_one_that_is_in_use_stays(self, home: Path, all_packages: Path):
        made, _ = install(COMPILER, PackageFolder(all_packages))
        with in_use(made.library) as held:
            assert len(held) == 1
            with pytest.raises(InstallError, match=r"compiler-26\.1-1 is in use"):
                remove(["compiler"])
            assert installed() == (made,)
        remove(["compiler"])

    def test_other_libraries_hold_nothing(self, tmp_path: Path):
        for library in ("libocloc.so", tmp_path / "libocloc.so"):
            with in_use(library) as held:
                assert held == ()


def copied(folder: Path, tmp_path: Path) -> Path:
    """Return a copy of a folder of packages that a test may change."""
    return Path(shutil.copytree(folder, tmp_path / "copied"))
