"""Converted models of other packages: the same outputs, the same losses over 20 steps. Random weights, small sizes.

The packages are in requirements-models.txt, which ./run does not install; what is missing is skipped.
"""

import copy

import pytest
import torch

import conv_transpose.torch as ct
from torch_cases import DEVICES, device, seed_and_switches  # noqa: F401  (fixtures)


def mask_rcnn_head():
    """What turns a region's features into its mask."""
    from torchvision.models.detection.mask_rcnn import MaskRCNNPredictor
    return MaskRCNNPredictor(16, 16, 5), torch.randn(3, 16, 7, 7)


def unet():
    from monai.networks.nets import UNet
    return UNet(2, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1), torch.randn(2, 1, 16, 16)


def unet_of_volumes():
    from monai.networks.nets import UNet
    return UNet(3, 1, 2, channels=(4, 8, 16), strides=(2, 2), num_res_units=1), torch.randn(2, 1, 8, 8, 8)


def nn_unet():
    """nnU-Net's: kernel = stride, no padding."""
    from monai.networks.nets import DynUNet
    return (DynUNet(3, 1, 2, kernel_size=[3, 3, 3], strides=[1, 2, 2], upsample_kernel_size=[2, 2], filters=[4, 8, 16]),
            torch.randn(2, 1, 8, 8, 8))


def hifi_gan():
    from transformers import SpeechT5HifiGan, SpeechT5HifiGanConfig
    config = SpeechT5HifiGanConfig(model_in_dim=8, upsample_initial_channel=16, upsample_rates=[4, 2],
                                   upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3],
                                   resblock_dilation_sizes=[[1, 3]], initializer_range=0.2)
    return SpeechT5HifiGan(config), torch.randn(2, 10, 8)


def encodec_decoder():
    """Its transposed convolutions are under weight_norm."""
    from transformers import EncodecConfig, EncodecModel
    config = EncodecConfig(num_filters=4, hidden_size=16, codebook_dim=16, upsampling_ratios=[4, 2])
    return EncodecModel(config).decoder, torch.randn(2, 16, 12)


def dac_decoder():
    from transformers import DacConfig, DacModel
    config = DacConfig(encoder_hidden_size=8, decoder_hidden_size=32, downsampling_ratios=[2, 4], upsampling_ratios=[4, 2],
                       n_codebooks=2, codebook_size=8, codebook_dim=4)
    return DacModel(config).decoder, torch.randn(2, config.hidden_size, 12)


def sam_mask_decoder():
    """Segment Anything's upscaling of image features."""
    from transformers import SamMaskDecoderConfig
    from transformers.models.sam.modeling_sam import SamMaskDecoder

    config = SamMaskDecoderConfig(hidden_size=32, mlp_dim=32, num_hidden_layers=1, num_attention_heads=2,
                                  iou_head_hidden_dim=16)

    class Decoder(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.decoder = SamMaskDecoder(config)

        def forward(self, features):
            prompts = torch.ones(len(features), 1, 2, 32, device=features.device)
            zeros = torch.zeros_like(features)
            return self.decoder(features, zeros, prompts, zeros, True)[0]

    return Decoder(), torch.randn(2, 32, 8, 8)


MODELS = {"torchvision": [mask_rcnn_head], "monai": [unet, unet_of_volumes, nn_unet],
          "transformers": [hifi_gan, encodec_decoder, dac_decoder, sam_mask_decoder]}
OURS = (ct.ConvTranspose1d, ct.ConvTranspose2d, ct.ConvTranspose3d)


def train(model, x, steps):
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (model(x) - 1).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return torch.stack(losses)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("package, make", [(package, make) for package, makes in MODELS.items() for make in makes],
                         ids=lambda value: getattr(value, "__name__", value))
def test_converted_models(package, make, device):
    pytest.importorskip(package)
    theirs, x = make()
    theirs, x = theirs.to(device).train(), x.to(device)
    ours = copy.deepcopy(theirs)
    assert ct.convert(ours).converted
    with torch.no_grad():
        torch.testing.assert_close(ours.eval()(x), theirs.eval()(x), rtol=1e-4, atol=1e-5)
    losses = [train(model.train(), x, 20) for model in (theirs, ours)]
    assert losses[0][-1] < losses[0][0]
    torch.testing.assert_close(losses[1], losses[0], rtol=1e-3, atol=0)
    torch.testing.assert_close(losses[1][0], losses[0][0], rtol=1e-5, atol=0)  # before any step
    ct.revert(ours)
    assert not any(isinstance(module, OURS) for module in ours.modules())
