/* Messages of one order stay in order, because they go to one queue: ./send_ordered [NAME_SERVERS [TOPIC]] */
#include <skylark/skylark.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

    static const char *const steps[] = {"created", "paid", "shipped"};
    struct sky_send_options *of_order = sky_send_options_new();
    for (int order = 0; order < 3; order++) {
        char key[32];
        snprintf(key, sizeof key, "order %d", order);
        check(sky_send_options_set_order_key(of_order, key));
        for (int step = 0; step < 3; step++) {
            struct sky_message *m = sky_message_new(topic, steps[step], strlen(steps[step]));
            struct sky_receipt *receipt;
            check(sky_message_set_property(m, "order", key));
            check(sky_producer_send(producer, m, of_order, &receipt));
            printf("%s %s: queue %d offset %lld\n", key, steps[step], sky_receipt_queue_id(receipt), (long long)sky_receipt_queue_offset(receipt));
            sky_receipt_free(receipt);
            sky_message_free(m);
        }
    }
    sky_send_options_free(of_order);
    sky_producer_free(producer);
    sky_client_free(client);
    return 0;
}
