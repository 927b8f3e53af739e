from locus_scope import main

main()
