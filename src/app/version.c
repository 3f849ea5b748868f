#include "app/app.h"

#include <stdio.h>

int cmd_version(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    puts("skylark " SKYLARK_VERSION " (compatible with Apache RocketMQ " COMPATIBLE_VERSION ")");
    return EXIT_FINE;
}
