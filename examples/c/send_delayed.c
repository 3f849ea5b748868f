/* Sends messages that are delivered later: ./send_delayed [NAME_SERVERS [TOPIC]] */
#include <skylark/skylark.h>

#include <stdio.h>
#include <stdlib.h>

static void check(struct sky_error *e)
{
    if (!e) return;
    fprintf(stderr, "%s: %s\\n", sky_code_name(sky_error_code(e)), sky_error_text(e));
    sky_error_free(e);
    exit(1);
}

int main(int argc, char **argv)
{
    const char *servers = argc > 1 ? argv[1] : "127.0.0.1:9876", *topic = argc > 2 ? argv[2] : "Hello";
    struct sky_client_options *options = sky_client_options_new();
    struct sky_client *client;
    check(sky_client_options_set_name_servers(options, servers));
    check(sky_client_open(options, &client));
    sky_client_options_free(options);

    struct sky_producer_options *how = sky_producer_options_new("hello_producer");
    struct sky_producer *producer;
    check(sky_producer_open(client, how, &producer));
    sky_producer_options_free(how);

    struct sky_message *by_level = sky_message_new(topic, "in a second", 11), *by_time = sky_message_new(topic, "in two seconds", 14);
    struct sky_receipt *receipt;
    check(sky_message_set_delay_level(by_level, 1));
    check(sky_message_set_delay_ms(by_time, 2000));
    check(sky_producer_send(producer, by_level, NULL, NULL));
    check(sky_producer_send(producer, by_time, NULL, &receipt));
    printf("to take it back: %s\n", sky_receipt_recall_handle(receipt) ? sky_receipt_recall_handle(receipt) : "the server gives no handle");
    sky_receipt_free(receipt);
    sky_message_free(by_level);
    sky_message_free(by_time);
    sky_producer_free(producer);
    sky_client_free(client);
    return 0;
}
