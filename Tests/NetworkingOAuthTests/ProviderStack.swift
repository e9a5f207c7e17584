#if Crypto
import Networking
import NetworkingOAuth
import NetworkingTesting

/// A stack whose requests are authenticated by a client of a scripted provider.
struct ProviderStack {
    let provider = ScriptedProvider()
    let transport: MockTransport
    let client = OAuthClient(ScriptedProvider.system())
    let clock = ManualClock()
    let network: AnyNetworkingComponent

    init() {
        transport = provider.transport
        network = provider.network(client, over: transport, clock)
    }
}

/// A suite whose tests each have such a stack.
protocol ProviderSuite {
    var stack: ProviderStack { get }
}

extension ProviderSuite {
    var provider: ScriptedProvider { stack.provider }
    var transport: MockTransport { stack.transport }
    var client: OAuthClient { stack.client }
    var clock: ManualClock { stack.clock }
    var network: AnyNetworkingComponent { stack.network }
}
#endif
