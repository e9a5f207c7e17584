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

    @Test(
        arguments: [
            (.zero, "0.0 seconds"), (.seconds(30), "30.0 seconds"), (.milliseconds(250), "0.25 seconds"),
            (.nanoseconds(83_333_333), "0.083 seconds"), (.nanoseconds(3_999_999_123), "4.0 seconds"),
            (.nanoseconds(1_999_400_000), "1.999 seconds"), (.microseconds(250), "0.00025 seconds"),
            (.nanoseconds(999_999), "0.001 seconds"), (.nanoseconds(1), "0.0 seconds"),
            (.milliseconds(-250), "-0.25 seconds"), (.seconds(Int64.max), "9223372036854775807.0 seconds"),
            (Duration(attoseconds: .max), "170141183460469231731.687 seconds"),
        ] as [(Duration, String)]
    )
    func errorsShowSecondsWithThreeDecimals(duration: Duration, text: String) {
        #expect(duration.roundedText == text)
    }
}
