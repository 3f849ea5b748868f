/* Commands of mqadmin that have nothing to ask here, each with what is so, and what to do instead. */
#include "admin/command.h"

#define NO_STATIC "Skylark has no static topics"

const struct command absent_commands[] = {
    {.name = "updateStaticTopic", .absent = NO_STATIC},
    {.name = "remappingStaticTopic", .absent = NO_STATIC},
    {.name = "exportMetadataInRocksDB", .absent = "files of RocksDB cannot be read here; 'exportMetadata' asks a broker"},
    {.name = NULL},
};
