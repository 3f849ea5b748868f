/* Receives messages until so many came: ./consume [NAME_SERVERS [TOPIC [COUNT [GROUP [ordered|broadcast]]]]] */
#include <skylark/skylark.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int received;

static void check(struct sky_error *e)
{
    if (!e) return;
    fprintf(stderr, "%s: %s\n", sky_code_name(sky_error_code(e)), sky_error_text(e));
    sky_error_free(e);
    exit(1);
}

/* Runs on the consumer's threads, several at the same time unless it is ordered. */
static enum sky_consumed consume(void *user, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    (void)user;
    (void)x;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        size_t bytes;
        const char *body = sky_message_body(messages[i], &bytes);
        printf("%s %s %d %lld %.*s\n", sky_message_id(messages[i]), sky_message_broker(messages[i]), sky_message_queue_id(messages[i]),
               (long long)sky_message_queue_offset(messages[i]), (int)bytes, body);
    }
    received += (int)count;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return SKY_CONSUMED;   /* SKY_CONSUME_LATER: comes again */
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

    struct sky_push_consumer_options *how = sky_push_consumer_options_new(argc > 4 ? argv[4] : "hello_group");
    struct sky_push_consumer *consumer;
    check(sky_push_consumer_options_set_start(how, SKY_START_FIRST, 0));
    sky_push_consumer_options_set_ordered(how, argc > 5 && strcmp(argv[5], "ordered") == 0);
    sky_push_consumer_options_set_broadcast(how, argc > 5 && strcmp(argv[5], "broadcast") == 0);
    check(sky_push_consumer_open(client, how, consume, NULL, &consumer));
    sky_push_consumer_options_free(how);
    check(sky_push_consumer_subscribe(consumer, topic, "*"));

    pthread_mutex_lock(&lock);
    while (received < count) pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    sky_push_consumer_free(consumer);   /* tells the servers how far it is */
    sky_client_free(client);
    return 0;
}
