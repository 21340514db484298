"""References, checks by sha256, and offline errors that say what to do. No network is touched."""

import hashlib
import os

import pytest

from components.model import weights as weights_module
from components.model.published import PublishedWeights, WeightsFile, list_published, published
from components.model.weights import WeightsError, cache_folder, folder_of, resolve, sha256_of


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("DOGFLOW_WEIGHTS", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_openai_entry_carries_the_sha256_of_its_address():
    entry = published("ViT-L-14/openai", "clip")
    first = entry.files[0]
    assert first.name == "ViT-L-14.pt"
    assert first.sha256 == "b8cca3fd41ae0c99ba7e8951adf17d267cdb84cd88be6f7c2e0eca1737a03836"
    assert first.sha256 in first.url
    assert [file.name for file in entry.files[1:]] == [
        "open_clip_model.safetensors",
        "open_clip_pytorch_model.bin",
    ]


def test_a_release_address_gives_its_eight_digits_and_a_hub_entry_gives_none():
    release = {file.name: file for file in published("ViT-B-32/laion400m_e32", "clip").files}
    assert release["vit_b_32-quickgelu-laion400m_e32-46683a32.pt"].sha256 == "46683a32"
    assert {file.sha256 for file in published("ViT-B-32/laion2b_s34b_b79k", "clip").files} == {""}


def test_sam_entries_are_whole_checksums_of_the_registry_sizes():
    for name in ("vit_b", "vit_l", "vit_h"):
        (file,) = published(name, "sam").files
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.url.endswith("/" + file.name)
    # 4 bytes for each of the published models' parameters, and a little for the archive.
    sizes = {name: published(name, "sam").files[0].size_bytes for name in ("vit_b", "vit_l", "vit_h")}
    for name, parameters in {"vit_b": 93_735_472, "vit_l": 312_342_832, "vit_h": 641_090_608}.items():
        assert 0 < sizes[name] - 4 * parameters < 250_000


def test_the_list_names_the_defaults_and_all_of_open_clips_table():
    short = [entry.reference for entry in list_published()]
    assert {"ViT-L-14/openai", "ViT-B-32/openai", "vit_b", "vit_l", "vit_h"} <= set(short)
    everything = [entry.reference for entry in list_published(everything=True)]
    assert len(everything) == len(set(everything)) > 100
    assert set(short) <= set(everything)


def test_the_cache_folder_follows_the_environment(cache, monkeypatch):
    assert cache_folder() == cache
    assert folder_of("ViT-L-14/openai", "clip") == cache / "clip" / "ViT-L-14--openai"
    monkeypatch.delenv("DOGFLOW_WEIGHTS")
    monkeypatch.setenv("HOME", str(cache / "home"))
    assert cache_folder() == cache / "home" / ".cache" / "dogflow" / "weights"


def test_absent_weights_name_the_command_the_file_and_the_folder(cache):
    with pytest.raises(WeightsError) as caught:
        resolve("ViT-L-14/openai", "clip")
    message = str(caught.value)
    for part in ("dogflow weights pull ViT-L-14/openai", "ViT-L-14.pt", "open_clip_model.safetensors"):
        assert part in message
    assert str(cache / "clip" / "ViT-L-14--openai") in message
    with pytest.raises(WeightsError, match=r"sam_vit_b_01ec64\.pth"):
        resolve("vit_b", "sam")


def test_published_weights_resolve_only_with_the_published_bytes(cache, monkeypatch):
    content = b"pretend weights"
    digest = hashlib.sha256(content).hexdigest()
    entry = PublishedWeights("vit_b", "sam", (WeightsFile("sam_vit_b.pth", url="x", sha256=digest),))
    monkeypatch.setattr(weights_module, "published", lambda reference, kind: entry)
    path = folder_of("vit_b", "sam") / "sam_vit_b.pth"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    resolved = resolve("vit_b", "sam")
    assert (resolved.path, resolved.sha256, resolved.published) == (path, digest, True)
    path.write_bytes(content + b"!")
    with pytest.raises(WeightsError, match=r"not the published sam_vit_b\.pth.*Delete it"):
        resolve("vit_b", "sam")


def test_a_folder_resolves_to_the_digests_of_both_files_and_names_a_missing_one(tmp_path):
    (tmp_path / "sam_config.json").write_text("{}")
    with pytest.raises(WeightsError, match=r"has no sam_model\.safetensors"):
        resolve(str(tmp_path), "sam")
    (tmp_path / "sam_model.safetensors").write_bytes(b"abc")
    resolved = resolve(str(tmp_path), "sam")
    assert (
        resolved.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )  # FIPS 180-2: "abc"
    assert resolved.config_sha256 == hashlib.sha256(b"{}").hexdigest()
    assert str(tmp_path) not in str(resolved.identity)


def test_files_resolve_by_kind(tmp_path):
    checkpoint = tmp_path / "mine.pth"
    checkpoint.write_bytes(b"abc")
    assert resolve(str(checkpoint), "sam").sha256 == sha256_of(checkpoint)
    named = resolve(f"ViT-B-32@{checkpoint}", "clip")
    assert (named.model_name, named.path, named.folder) == ("ViT-B-32", checkpoint, False)
    with pytest.raises(WeightsError, match=r"sam_config\.json beside it"):
        (tmp_path / "mine.safetensors").write_bytes(b"abc")
        resolve(str(tmp_path / "mine.safetensors"), "sam")


@pytest.mark.parametrize(
    ("reference", "kind", "message"),
    [
        ("ViT-L-15/openai", "clip", "neither a folder or file"),
        ("vit_x", "sam", "neither a folder or file"),
        ("", "clip", "has no name"),
        ("ViT-B-32@/nowhere/w.pt", "clip", "is not there"),
        ("vit_b", "yolo", "no kind of weights 'yolo'"),
    ],
)
def test_a_reference_that_means_nothing_says_what_would(reference, kind, message, cache):
    with pytest.raises(WeightsError, match=message):
        resolve(reference, kind)


def test_the_module_does_not_import_torch():
    import subprocess
    import sys

    code = "import sys, components.model.weights, components.model.download; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env=os.environ)
