"""One wheel for every Python 3, of programs for one kind of machine."""

import os

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False  # beside PyTorch, where a system has two folders

    def get_tag(self):
        return "py3", "none", os.environ["LOCUS_WHEEL_PLATFORM"]


setup(cmdclass={"bdist_wheel": Wheel})
