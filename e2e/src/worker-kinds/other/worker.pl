# A worker without an SDK: the protocol of svc, which is JSON over a WebSocket, with Perl's core modules.
use strict;
use warnings;
use IO::Socket::INET;
use JSON::PP;

my ($host) = $ENV{SVC_URL} =~ m{^ws://([^/]+)} or die "no SVC_URL\n";
my $name = $ENV{SVC_WORKER_NAME};
my $engine = IO::Socket::INET->new(PeerAddr => $host) or die "no engine at $host: $@\n";
print $engine "GET / HTTP/1.1\r\nHost: $host\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n",
  "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: d29ya2VyIG9mIHBlcmwhIQ==\r\n\r\n";
$engine->flush;
my $head = '';
$head .= take(1) until $head =~ /\r\n\r\n$/;
die $head unless $head =~ m{^HTTP/1.1 101 };

say_it({type => 'invokefunction', function_id => 'engine::workers::register', action => {type => 'void'},
  data => {name => $name, runtime => 'perl', pid => $$ + 0}});
say_it({type => 'registerfunction', id => "${name}::double"});
while (1) {
  my ($opcode, $size) = unpack 'CC', take(2);
  $size = unpack 'n', take(2) if $size == 126;
  $size = unpack 'Q>', take(8) if $size == 127;
  my $payload = $size ? take($size) : '';
  exit 0 if ($opcode & 15) == 8;
  frame(10, $payload) if ($opcode & 15) == 9;
  next unless ($opcode & 15) == 1;
  my $call = decode_json($payload);
  next unless $call->{type} eq 'invokefunction';
  say_it({type => 'invocationresult', invocation_id => $call->{invocation_id}, function_id => $call->{function_id},
    result => {n => 2 * $call->{data}{n}, runtime => 'perl'}});
}

sub take {
  my ($size) = @_;
  my $bytes = '';
  while (length $bytes < $size) {
    sysread($engine, $bytes, $size - length $bytes, length $bytes) or die "the engine is gone\n";
  }
  return $bytes;
}

sub say_it { frame(1, encode_json($_[0])) }

# The mask is zero: it protects proxies from pages, and there is neither here.
sub frame {
  my ($opcode, $payload) = @_;
  my $size = length $payload;
  syswrite $engine, pack('C', 128 | $opcode) . ($size < 126 ? pack('C', 128 | $size) : pack('Cn', 254, $size)) . "\0\0\0\0$payload";
}
