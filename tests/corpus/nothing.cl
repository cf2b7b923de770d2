// no kernel is here
