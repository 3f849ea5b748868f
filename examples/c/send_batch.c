/* Sends several messages of one topic at once, stored all or none: ./send_batch [NAME_SERVERS [TOPIC]] */
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

    enum { COUNT = 5 };
    struct sky_message *batch[COUNT];
    struct sky_receipt *receipt;
    for (int i = 0; i < COUNT; i++) {
        char body[32];
        int n = snprintf(body, sizeof body, "part %d", i);
        batch[i] = sky_message_new(topic, body, (size_t)n);
        check(sky_message_set_tag(batch[i], "TagA"));
    }
    check(sky_producer_send_batch(producer, (const struct sky_message *const *)batch, COUNT, NULL, &receipt));
    printf("%d messages from offset %lld of queue %d at %s\n", COUNT, (long long)sky_receipt_queue_offset(receipt), sky_receipt_queue_id(receipt),
           sky_receipt_broker(receipt));
    sky_receipt_free(receipt);
    for (int i = 0; i < COUNT; i++) sky_message_free(batch[i]);
    sky_producer_free(producer);
    sky_client_free(client);
    return 0;
}
