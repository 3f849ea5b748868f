/* Transactions with real brokers: half messages, their end, and questions after them. */
#include "client/world.h"

#include "codec/properties.h"

#include <stdio.h>
#include <stdlib.h>

struct plan {
    struct world *world;
    enum sky_transaction says;   /* when it is asked */
    int asked, stored;
    char last[32];
    struct sky_producer *producer;
    enum sky_transaction ends;   /* as soon as the half message is stored */
};

static enum sky_transaction check(void *user, const struct sky_message *m)
{
    struct plan *p = user;
    size_t bytes;
    const char *body = sky_message_body(m, &bytes);
    p->asked++;
    snprintf(p->last, sizeof p->last, "%s %.*s", sky_message_topic(m), (int)bytes, body);
    return p->says;
}

static void on_half(void *user, const struct sky_error *e, const struct sky_receipt *r)
{
    struct plan *p = user;
    if (e) fail_msg("%s", sky_error_text(e));
    p->stored++;
    SKY_OKAY(sky_producer_end_transaction(p->producer, r, p->ends));
}

static void begin(struct plan *p, struct world *w)
{
    struct sky_producer_options *o = sky_producer_options_new("dealers");
    p->world = w;
    sky_producer_options_set_transaction_check(o, check, p);
    SKY_OKAY(sky_producer_open(w->client, o, &p->producer));
    sky_producer_options_free(o);
    world_join(w, 0, NULL);
    sim_run_for(w->sim, 5000);
}

static void half(struct plan *p, int number, size_t bytes)
{
    char body[8192];
    memset(body, ' ', sizeof body);
    int n = snprintf(body, sizeof body, "%d", number);
    body[n] = bytes ? ' ' : 0;
    struct sky_message *m = sky_message_new("Orders", body, bytes ? bytes : (size_t)n);
    SKY_OKAY(sky_producer_send_half_async(p->producer, m, NULL, on_half, p));
    SKY_OKAY(sky_message_set_delay_level(m, 1));
    SKY_FAILS(sky_producer_send_half_async(p->producer, m, NULL, on_half, p), SKY_INVALID, "delayed");
    sky_message_free(m);
}

static void end(struct plan *p)
{
    struct sky_producer *producer = p->producer;
    struct world *w = p->world;
    client_shutdown_begin(w->client, NULL, NULL);
    sim_run_for(w->sim, 10000);
    sky_producer_free(producer);
    world_stop(w);
}

TEST(transaction, a_message_comes_when_it_is_committed_and_never_when_it_is_rolled_back)
{
    struct plan p = {.ends = SKY_TRANSACTION_COMMIT};
    begin(&p, world_start(21));
    half(&p, 1, 0);
    world_await(p.world, 1);
    p.ends = SKY_TRANSACTION_ROLLBACK;
    half(&p, 2, 0);
    sim_run_for(p.world->sim, 120000);
    EXPECT_EQ(p.stored, 2);
    EXPECT_EQ(p.asked, 0);
    EXPECT_EQ(p.world->count, 1);
    EXPECT_EQ(p.world->got[0].number, 1);
    end(&p);
}

TEST(transaction, what_was_left_open_is_asked_after_until_it_is_known)
{
    struct plan p = {.ends = SKY_TRANSACTION_UNKNOWN};
    begin(&p, world_start(22));
    half(&p, 3, 0);
    sim_run_for(p.world->sim, 100000);
    EXPECT(p.asked >= 2);
    EXPECT(strcmp(p.last, "Orders 3") == 0);
    EXPECT_EQ(p.world->count, 0);
    p.says = SKY_TRANSACTION_COMMIT;
    world_await(p.world, 1);
    int asked = p.asked;
    sim_run_for(p.world->sim, 100000);
    EXPECT_EQ(p.asked, asked);
    EXPECT_EQ(p.world->count, 1);
    end(&p);
}

TEST(transaction, the_question_shows_a_compressed_body_as_it_was_and_a_rollback_ends_it)
{
    struct plan p = {.ends = SKY_TRANSACTION_UNKNOWN, .says = SKY_TRANSACTION_ROLLBACK};
    begin(&p, world_start(23));
    half(&p, 4711, 8000);
    sim_run_for(p.world->sim, 120000);
    EXPECT_EQ(p.asked, 1);
    EXPECT(strncmp(p.last, "Orders 4711 ", 12) == 0);
    EXPECT_EQ(p.world->count, 0);
    end(&p);
}

static void on_plain(void *user, const struct sky_error *e, const struct sky_receipt *r)
{
    struct plan *p = user;
    EXPECT(!e);
    SKY_FAILS(sky_producer_end_transaction(p->producer, r, SKY_TRANSACTION_COMMIT), SKY_INVALID, "not the receipt");
    p->stored++;
}

TEST(transaction, only_a_half_message_can_be_ended)
{
    struct plan p = {.ends = SKY_TRANSACTION_COMMIT};
    begin(&p, world_start(24));
    struct sky_message *m = sky_message_new("Orders", "5", 1);
    SKY_OKAY(sky_producer_send_async(p.producer, m, NULL, on_plain, &p));
    sky_message_free(m);
    sim_run_for(p.world->sim, 2000);
    EXPECT_EQ(p.stored, 1);
    end(&p);
}

TEST(transaction, a_half_message_says_that_it_is_one_as_the_original_does)
{
    struct odd *o = odd_start(1);
    struct odd_outcome out = {.odd = o};
    odd_producer(o);
    struct sky_message *m = sky_message_new("Orders", "hello", 5);
    SKY_OKAY(sky_message_set_tag(m, "paid"));
    SKY_OKAY(sky_producer_send_half_async(o->producer, m, NULL, odd_sent, &out));
    sky_message_free(m);
    odd_wait(o, &out);
    const struct send_header *h = &o->broker[0].sends[0].h;
    EXPECT_EQ(h->sys_flag, 4);
    EXPECT_TEXT(properties_get(h->properties, SLICE("TRAN_MSG")), "true");
    EXPECT_TEXT(properties_get(h->properties, SLICE("PGROUP")), "makers");
    EXPECT_TEXT(properties_get(h->properties, SLICE("TAGS")), "paid");
    EXPECT_TEXT(properties_get(h->properties, SLICE("UNIQ_KEY")), out.message_id);
    odd_stop(o);
}
