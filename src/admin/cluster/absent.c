/* Commands of mqadmin that have nothing to ask here, each with what is so, and what to do instead. */
#include "admin/command.h"

#define NO_ACCOUNTS "Skylark has no accounts and permissions of its own yet"
#define NO_CONTROLLER "Skylark has no controller and no replicas yet"
#define NO_CONTAINER "Skylark has no broker container: 'skylark broker' starts one broker"
#define NO_ROCKSDB "Skylark keeps nothing in RocksDB"
#define NO_STATIC "Skylark has no static topics"
#define NO_LITE "the broker answers such a request, this command does not ask it yet"

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
    {.name = "exportMetadataInRocksDB", .absent = NO_ROCKSDB "; 'exportMetadata' asks a broker"},
    {.name = "rocksDBConfigToJson", .absent = NO_ROCKSDB ": config/*.json of a store are JSON already"},
    {.name = "checkRocksdbCqWriteProgress", .absent = NO_ROCKSDB},
    {.name = "switchTimerEngine", .absent = NO_ROCKSDB ": timers are in files"},
    {.name = "dumpCompactionLog", .absent = "'skylark store dump DIR --topic TOPIC' shows the messages of a store that no broker has open"},
    {.name = "startMonitoring", .absent = "it would not end; 'group list' shows who is behind, 'doctor' what is wrong"},
    {.name = "exportMetrics", .absent = "'brokerStatus --json', 'statsAll --json' and 'brokerConsumeStats --json' have the numbers"},
    {.name = "getBrokerLiteInfo", .absent = NO_LITE},
    {.name = "getParentTopicInfo", .absent = NO_LITE},
    {.name = "getLiteTopicInfo", .absent = NO_LITE},
    {.name = "getLiteClientInfo", .absent = NO_LITE},
    {.name = "getLiteGroupInfo", .absent = NO_LITE},
    {.name = "triggerLiteDispatch", .absent = NO_LITE},
    {.name = NULL},
};
