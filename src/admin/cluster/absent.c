/* Commands of mqadmin that have nothing to ask here, each with what is so, and what to do instead. */
#include "admin/command.h"

#define NO_ACCOUNTS "the broker keeps accounts and permissions, and takes these requests; use the mqadmin of the original for them as yet"
#define NO_CONTROLLER "Skylark has no controller and no replicas yet"
#define NO_CONTAINER "Skylark has no broker container: 'skylark broker' starts one broker"
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
    {.name = "getControllerMetaData", .absent = NO_CONTROLLER},
    {.name = "getControllerConfig", .absent = NO_CONTROLLER},
    {.name = "updateControllerConfig", .absent = NO_CONTROLLER},
    {.name = "electMaster", .absent = NO_CONTROLLER},
    {.name = "cleanBrokerMetadata", .absent = NO_CONTROLLER},
    {.name = "getSyncStateSet", .absent = NO_CONTROLLER "; 'haStatus' says who follows a master of the original"},
    {.name = "addBroker", .absent = NO_CONTAINER},
    {.name = "removeBroker", .absent = NO_CONTAINER},
    {.name = "updateStaticTopic", .absent = NO_STATIC},
    {.name = "remappingStaticTopic", .absent = NO_STATIC},
    {.name = "exportMetadataInRocksDB", .absent = "files of RocksDB cannot be read here; 'exportMetadata' asks a broker"},
    {.name = NULL},
};
