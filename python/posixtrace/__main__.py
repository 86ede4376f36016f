#
# __main__.py - python3 -m posixtrace
#
# SPDX-License-Identifier: MIT

from posixtrace._run import main

main()
