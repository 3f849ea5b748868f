/* Sends messages and waits for each: ./send [NAME_SERVERS [TOPIC [COUNT]]] */
#include <skylark/skylark.h>

#include <stdio.h>
#include <stdlib.h>

static void check(struct sky_error *e)
{
    if (!e) return;
    fprintf(stderr, "%s: %s\n", sky_code_name(sky_error_code(e)), sky_error_text(e));
    sky_error_free(e);
    exit(1);
}

int main(int argc, char **argv)
{
    const char *servers = argc > 1 ? argv[1] : "127.0.0.1:9876", *topic = argc > 2 ? argv[2] : "Hello";
    int count = argc > 3 ? atoi(argv[3]) : 10;
    struct sky_client_options *options = sky_client_options_new();
    struct sky_client *client;
    check(sky_client_options_set_name_servers(options, servers));
    check(sky_client_open(options, &client));
    sky_client_options_free(options);

    struct sky_producer_options *how = sky_producer_options_new("hello_producer");
    struct sky_producer *producer;
    check(sky_producer_open(client, how, &producer));
    sky_producer_options_free(how);

    for (int i = 0; i < count; i++) {
        char body[32];
        int n = snprintf(body, sizeof body, "message %d", i);
        struct sky_message *m = sky_message_new(topic, body, (size_t)n);
        struct sky_receipt *receipt;
        check(sky_message_set_tag(m, "TagA"));
        check(sky_message_set_keys(m, "hello"));
        check(sky_producer_send(producer, m, NULL, &receipt));
        printf("%s %s %d %lld\n", sky_receipt_message_id(receipt), sky_receipt_broker(receipt), sky_receipt_queue_id(receipt),
               (long long)sky_receipt_queue_offset(receipt));
        sky_receipt_free(receipt);
        sky_message_free(m);
    }
    sky_producer_free(producer);
    sky_client_free(client);
    return 0;
}
