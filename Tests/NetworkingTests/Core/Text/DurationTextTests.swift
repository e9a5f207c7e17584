import Networking
import Testing

struct DurationTextTests {
    @Test(
        arguments: [
            (.zero, "0.0 ms"), (.microseconds(1_560), "1.5 ms"), (.seconds(2), "2000.0 ms"),
            (.microseconds(-1_500), "-1.5 ms"), (.microseconds(-500), "-0.5 ms"), (.seconds(-2), "-2000.0 ms"),
            (.microseconds(-1), "0.0 ms"), (.seconds(-2_000_000_000), "-2000000000 s"),
        ] as [(Duration, String)]
    )
    func millisecondsHaveOneSign(duration: Duration, text: String) {
        #expect(duration.milliseconds == text)
    }
}
