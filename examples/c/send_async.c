/* Sends many messages at once and is told of each: ./send_async [NAME_SERVERS [TOPIC [COUNT]]] */
#include <skylark/skylark.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static atomic_int stored, failed;

static void check(struct sky_error *e)
{
    if (!e) return;
    fprintf(stderr, "%s: %s\n", sky_code_name(sky_error_code(e)), sky_error_text(e));
    sky_error_free(e);
    exit(1);
}

/* Runs on a callback thread. */
static void sent(void *user, const struct sky_error *error, const struct sky_receipt *receipt)
{
    (void)user;
    (void)receipt;
    if (error) fprintf(stderr, "%s\n", sky_error_text(error));
    atomic_fetch_add(error ? &failed : &stored, 1);
}

/* When as many are under way as may be, some must end first. */
static void send_one(struct sky_producer *producer, const struct sky_message *m)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (;;) {
        struct sky_error *e = sky_producer_send_async(producer, m, NULL, sent, NULL);
        if (sky_error_code(e) != SKY_FULL) {
            check(e);
            return;
        }
        sky_error_free(e);
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    const char *servers = argc > 1 ? argv[1] : "127.0.0.1:9876", *topic = argc > 2 ? argv[2] : "Hello";
    int count = argc > 3 ? atoi(argv[3]) : 10000;
    struct sky_client_options *options = sky_client_options_new();
    struct sky_client *client;
    check(sky_client_options_set_name_servers(options, servers));
    check(sky_client_open(options, &client));
    sky_client_options_free(options);

    struct sky_producer_options *how = sky_producer_options_new("hello_producer");
    struct sky_producer *producer;
    check(sky_producer_open(client, how, &producer));
    sky_producer_options_free(how);
    check(sky_producer_preload(producer, topic));

    struct sky_message *m = sky_message_new(topic, "hello", 5);   /* it is copied each time */
    for (int i = 0; i < count; i++) send_one(producer, m);
    sky_message_free(m);
    check(sky_producer_shutdown(producer));                       /* waits for all of them */
    printf("%d stored, %d failed\n", atomic_load(&stored), atomic_load(&failed));
    sky_producer_free(producer);
    sky_client_free(client);
    return atomic_load(&stored) == count ? 0 : 1;
}
