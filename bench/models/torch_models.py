# SPDX-License-Identifier: Apache-2.0
"""Models of torchvision and transformers, with seeded weights: full-sized ones
of images, small configurations of texts and sounds.

MODELS[name](): the module, its inputs by name."""
import torch
import torchvision
import transformers as hf

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 128, "vocab_size": 100}
DECODER = {**SMALL, "num_key_value_heads": 2, "max_position_embeddings": 64,
           "use_cache": False}
BOTH = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4,
        "encoder_ffn_dim": 128, "decoder_ffn_dim": 128, "vocab_size": 100,
        "use_cache": False}
VISION = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
          "intermediate_size": 128, "image_size": 64}
SOUND = {**SMALL, "conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16,
         "num_conv_pos_embedding_groups": 4}


def seeded(make):
    """With batch norms that are not the identity."""
    torch.manual_seed(0)
    model = make().eval()
    for m in model.modules():
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.running_mean.copy_(0.1 * torch.randn(m.running_mean.shape))
            m.running_var.copy_(0.5 + torch.rand(m.running_var.shape))
    return model


class Taking(torch.nn.Module):
    """Inputs by name; the outputs of these keys."""

    def __init__(self, model, names, keys):
        super().__init__()
        self.model, self.names, self.keys = model, names, keys

    def forward(self, *args):
        made = self.model(**dict(zip(self.names, args)))
        return tuple(made[key] for key in self.keys)


class First(torch.nn.Module):
    """The output itself, or that of a key."""

    def __init__(self, model, key=None):
        super().__init__()
        self.model, self.key = model, key

    def forward(self, *args):
        made = self.model(*args)
        return made if self.key is None else made[self.key]


def images(make, *shape, key=None):
    return lambda: (First(seeded(make), key), {"x": torch.rand(shape)})


def tokens(n):
    return torch.randint(3, 90, (1, n))


def text(make, keys, **more):
    """Of 16 tokens, with a mask."""
    def model():
        inputs = {"input_ids": tokens(16),
                  "attention_mask": torch.ones(1, 16, dtype=torch.long),
                  **{name: f() for name, f in more.items()}}
        return Taking(seeded(make), list(inputs), keys), inputs
    return model


def of(name, make, keys, *shape):
    """One tensor of a given name."""
    return lambda: (Taking(seeded(make), [name], keys),
                    {name: torch.rand(shape)})


def classifier(name):
    known = ({"init_weights": True} if name in ("googlenet", "inception_v3")
             else {})
    size = 299 if name == "inception_v3" else 224
    return images(lambda: getattr(torchvision.models, name)(**known),
                  1, 3, size, size)


def segmenter(name):
    return images(lambda: getattr(torchvision.models.segmentation, name)(
        weights_backbone=None), 1, 3, 224, 224, key="out")


def recurrent(kind):
    class Both(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = getattr(torch.nn, kind)(
                16, 24, 2, batch_first=True, bidirectional=True)

        def forward(self, x):
            return self.layers(x)[0]
    return images(Both, 2, 7, 16)


STATE, LOGITS = ["last_hidden_state"], ["logits"]
MODELS = {name: classifier(name) for name in (
    "alexnet", "vgg11", "resnet18", "squeezenet1_1", "densenet121",
    "googlenet", "inception_v3", "mobilenet_v2", "mobilenet_v3_small",
    "shufflenet_v2_x1_0", "mnasnet0_5", "efficientnet_b0", "efficientnet_v2_s",
    "regnet_y_400mf", "convnext_tiny", "vit_b_16", "swin_t", "swin_v2_t",
    "maxvit_t")}
MODELS.update({name: segmenter(name) for name in (
    "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large",
    "fcn_resnet50")})
MODELS.update({kind.lower(): recurrent(kind) for kind in ("LSTM", "GRU",
                                                         "RNN")})
MODELS.update({
    "r3d_18": images(torchvision.models.video.r3d_18, 1, 3, 8, 56, 56),
    "bert": text(lambda: hf.BertModel(hf.BertConfig(**SMALL)),
                 STATE + ["pooler_output"],
                 token_type_ids=lambda: torch.zeros(1, 16, dtype=torch.long)),
    "distilbert": text(lambda: hf.DistilBertModel(hf.DistilBertConfig(
        dim=64, n_layers=2, n_heads=4, hidden_dim=128, vocab_size=100)),
        STATE),
    "roberta": text(lambda: hf.RobertaModel(hf.RobertaConfig(
        **SMALL, max_position_embeddings=64, pad_token_id=1)), STATE),
    "albert": text(lambda: hf.AlbertModel(hf.AlbertConfig(
        **SMALL, embedding_size=32)), STATE),
    "deberta_v2": text(lambda: hf.DebertaV2Model(hf.DebertaV2Config(
        **SMALL, relative_attention=True, pos_att_type=["p2c", "c2p"],
        position_buckets=16, max_relative_positions=32)), STATE),
    "gpt2": text(lambda: hf.GPT2LMHeadModel(hf.GPT2Config(
        n_embd=64, n_layer=2, n_head=4, vocab_size=100, n_positions=64,
        use_cache=False)), LOGITS),
    "gpt_neox": text(lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(
        **SMALL, use_cache=False, max_position_embeddings=64)), LOGITS),
    "llama": text(lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**DECODER)),
                  LOGITS),
    "qwen3": text(lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(
        **DECODER, head_dim=16)), LOGITS),
    "gemma2": text(lambda: hf.Gemma2ForCausalLM(hf.Gemma2Config(
        **DECODER, head_dim=16)), LOGITS),
    "t5": text(lambda: hf.T5ForConditionalGeneration(hf.T5Config(
        d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4,
        vocab_size=100, use_cache=False)), LOGITS,
        decoder_input_ids=lambda: tokens(8)),
    "bart": text(lambda: hf.BartForConditionalGeneration(hf.BartConfig(
        **BOTH, max_position_embeddings=64)), LOGITS,
        decoder_input_ids=lambda: tokens(8)),
    "vit": of("pixel_values", lambda: hf.ViTModel(hf.ViTConfig(**VISION)),
              STATE, 1, 3, 64, 64),
    "beit": of("pixel_values", lambda: hf.BeitModel(hf.BeitConfig(
        **VISION, use_relative_position_bias=True)), STATE, 1, 3, 64, 64),
    "segformer": of("pixel_values", lambda: hf.SegformerForSemanticSegmentation(
        hf.SegformerConfig(hidden_sizes=[16, 32, 48, 64], depths=[1] * 4,
                           decoder_hidden_size=32)), LOGITS, 1, 3, 64, 64),
    "wav2vec2": of("input_values", lambda: hf.Wav2Vec2ForCTC(
        hf.Wav2Vec2Config(**SOUND)), LOGITS, 1, 8000),
    "hubert": of("input_values", lambda: hf.HubertModel(
        hf.HubertConfig(**SOUND)), STATE, 1, 8000),
})
