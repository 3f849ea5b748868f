// Sends in all ways from C++: ./send_cpp [NAME_SERVERS [TOPIC]]
#include <skylark/skylark.hpp>

#include <atomic>
#include <cstdio>

int main(int argc, char **argv)
{
    const std::string servers = argc > 1 ? argv[1] : "127.0.0.1:9876", topic = argc > 2 ? argv[2] : "Hello";
    try {
        skylark::client client(servers);
        skylark::producer producer(client, "hello_producer");

        skylark::receipt r = producer.send(skylark::message(topic, "hello").tag("TagA").property("colour", "green"));
        std::printf("%s is at offset %lld\n", r.message_id().c_str(), static_cast<long long>(r.queue_offset()));

        std::vector<skylark::message> batch;
        batch.emplace_back(topic, "one");
        batch.emplace_back(topic, "two");
        producer.send(batch);

        std::atomic<int> stored(0);
        for (int i = 0; i < 100; i++)
            producer.send_async(skylark::message(topic, "later"), [&](const sky_error *e, const sky_receipt *) { stored += !e; });
        producer.shutdown();   // waits for all of them
        std::printf("%d of 100 stored\n", stored.load());
        return stored == 100 ? 0 : 1;
    } catch (const skylark::error &e) {
        std::fprintf(stderr, "%s: %s\n", sky_code_name(e.code()), e.what());
        return 1;
    }
}
