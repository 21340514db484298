"""Policies name all that changes a score, and are told without torch."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from components.foreground.policy import sam_policy
from components.model.device import DeviceError
from components.model.policy import arithmetic, clip_policy, text_policy
from components.model.published import CLIP, SAM
from components.model.weights import ResolvedWeights, resolve

ROOT = Path(__file__).resolve().parents[3]
FILES = {
    CLIP: ("open_clip_config.json", "open_clip_model.safetensors"),
    SAM: ("sam_config.json", "sam_model.safetensors"),
}
POLICY = {CLIP: clip_policy, SAM: sam_policy}


def folder(path: Path, kind: str, config: bytes = b"{}", weights: bytes = b"weights") -> ResolvedWeights:
    path.mkdir()
    for name, data in zip(FILES[kind], (config, weights), strict=True):
        (path / name).write_bytes(data)
    return resolve(str(path), kind)


@pytest.mark.parametrize("kind", [CLIP, SAM])
def test_a_policy_names_contents_not_places(kind, tmp_path):
    policy = POLICY[kind]
    first = policy(folder(tmp_path / "a", kind), "fp32")
    assert first == policy(folder(tmp_path / "b", kind), "fp32")
    assert str(tmp_path) not in json.dumps(first)
    others = [
        policy(folder(tmp_path / "c", kind, config=b'{"other": 1}'), "fp32"),
        policy(folder(tmp_path / "d", kind, weights=b"other"), "fp32"),
        policy(folder(tmp_path / "e", kind), "bf16"),
    ]
    assert all(other != first for other in others)


def test_the_tag_of_published_weights_counts_for_it_fixes_how_they_want_their_pictures(tmp_path):
    fields = {"kind": CLIP, "path": tmp_path, "sha256": "0" * 64, "model_name": "ViT-B-32"}
    tagged = ResolvedWeights("ViT-B-32/openai", tag="openai", **fields)
    plain = ResolvedWeights(f"ViT-B-32@{tmp_path}", **fields)
    assert clip_policy(tagged, "fp32")["model"] == "ViT-B-32/openai"
    assert clip_policy(plain, "fp32")["model"] == "ViT-B-32"


def test_text_states_do_not_depend_on_how_pictures_are_decoded(tmp_path):
    weights = folder(tmp_path / "a", CLIP)
    whole = clip_policy(weights, "fp32")
    assert text_policy(weights) == {k: v for k, v in whole.items() if k != "decoder"} | {
        "states_below_layers": 2
    }


def test_only_auto_asks_torch():
    code = (
        "import sys; from components.model.policy import arithmetic\n"
        "assert (arithmetic('fp32', 'auto'), arithmetic('bf16', 'cuda')) == ('fp32', 'bf16')\n"
        "assert 'torch' not in sys.modules\n"
        "assert arithmetic('auto', 'cpu') in ('fp32', 'bf16') and 'torch' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, timeout=120)
    with pytest.raises(DeviceError, match="fp16"):
        arithmetic("fp16", "cpu")
