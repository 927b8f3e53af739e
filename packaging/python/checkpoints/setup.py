"""Its files go into the folder of the package locus-scope, of which there may be two on a system: that of programs is meant."""

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", "any"


setup(cmdclass={"bdist_wheel": Wheel})
