import json
import subprocess
import sys
from dataclasses import replace

import pytest
import torch

from components.model.flow_model import build_network
from components.model.network import BREED_MODULES, PRESETS, NetworkConfig, preset

# Of the backbone: counted by diffusers' own classes for SD-1.5 (859,520,964), or by hand.
BACKBONE = {"sd15-512": 859_520_964, "sd15-1024": 859_520_964, "unet-1b": 996_507_652}


def parameters(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(("name", "count"), BACKBONE.items())
def test_backbones_of_the_large_presets_have_exactly_their_parameters(name, count):
    with torch.device("meta"):
        network = build_network(preset(name, text_width=768, num_breeds=120))
    assert parameters(network.backbone) == count


def test_the_transformer_has_the_parameters_of_its_layout():
    config = preset("dit-b", text_width=768, num_breeds=120)
    with torch.device("meta"):
        network = build_network(config)
    d = 768
    attention = 4 * (d * d + d)
    block = 2 * attention + (d * 4 * d + 4 * d) + (4 * d * d + d) + 6 * d
    patches = 4 * 4 * d + d
    time = (256 * d + d) + (d * d + d) + (d * 6 * d + 6 * d)
    text = 2 * (d * d + d)
    last = 2 * d + (d * 16 + 16)
    assert parameters(network.backbone) == 12 * block + patches + time + text + last


def test_the_demo_preset_has_about_2_8_million_parameters():
    with torch.device("meta"):
        network = build_network(preset("demo", text_width=64, num_breeds=8))
    assert parameters(network) == pytest.approx(2.8e6, rel=0.05)


def test_breed_modules_have_the_parameters_of_their_formulas():
    config = preset("sd15-512", text_width=768, num_breeds=120, breed_modules=BREED_MODULES)
    with torch.device("meta"):
        network = build_network(config)
    wide = [320] * 5 + [640] * 5 + [1280] * 6  # one cross-attention each: 2 + 3 a level, one in the middle
    gates = sum((768 + 256) * width + width for width in wide)
    expected = 121 * 256 + 256 * 1280 + 256 * 320 + gates
    assert sum(parameter.numel() for parameter in network.breed_parameters()) == expected
    assert parameters(network) - parameters(network.backbone) == expected - gates


def test_every_preset_survives_json():
    for config in PRESETS.values():
        config = replace(config, breed_modules=("gate",))
        assert NetworkConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_latents_are_an_eighth_of_the_picture():
    assert PRESETS["demo"].sample_shape == (3, 32, 32)
    assert PRESETS["sd15-512"].sample_shape == (4, 64, 64)
    assert PRESETS["sd15-1024"].sample_shape == (4, 128, 128)


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'sd9' is unknown; use one of: demo, sd15-512"):
        preset("sd9", text_width=64, num_breeds=8)
    with pytest.raises(ValueError, match="'attention' is unknown; use some of: time, gate, conv_in"):
        preset("demo", text_width=64, num_breeds=8, breed_modules=("attention",))


def test_the_table_of_presets_imports_no_torch():
    code = "import sys, components.model.network; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
