/* Commands of mqadmin that have nothing to ask here, each with what is so, and what to do instead. */
#include "admin/command.h"

#define NO_ACCOUNTS "the broker keeps accounts and permissions, and takes these requests; use the mqadmin of the original for them as yet"
#define NO_STATIC "Skylark has no static topics"

const struct command absent_commands[] = {
    {.name = "createUser", .absent = NO_ACCOUNTS},
    {.name = "updateUser", .absent = NO_ACCOUNTS},
    {.name = "deleteUser", .absent = NO_ACCOUNTS},
    {.name = "getUser", .absent = NO_ACCOUNTS},
    {.name = "listUser", .absent = NO_ACCOUNTS},
    {.name = "copyUser", .absent = NO_ACCOUNTS},
    {.name = "createAcl", .absent = NO_ACCOUNTS},
    {.name = "updateAcl", .absent = NO_ACCOUNTS},
    {.name = "deleteAcl", .absent = NO_ACCOUNTS},
    {.name = "getAcl", .absent = NO_ACCOUNTS},
    {.name = "listAcl", .absent = NO_ACCOUNTS},
    {.name = "copyAcl", .absent = NO_ACCOUNTS},
    {.name = "updateStaticTopic", .absent = NO_STATIC},
    {.name = "remappingStaticTopic", .absent = NO_STATIC},
    {.name = "exportMetadataInRocksDB", .absent = "files of RocksDB cannot be read here; 'exportMetadata' asks a broker"},
    {.name = NULL},
};
