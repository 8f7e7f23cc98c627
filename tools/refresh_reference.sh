#!/usr/bin/env bash
# Writes docs/reference from its sources: commands.md from every --help, keys.md from configs/schema,
# words.md from `lockstep help`; before that, into docs/reference only, configs/schema from the readers.
#   tools/refresh_reference.sh [LOCKSTEP [FOLDER]]
# FOLDER (default: docs/reference) is where the files go; the test `reference` compares them.
set -euo pipefail
lockstep=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")/../build/release/lockstep}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if [[ $# -lt 2 && -x $(dirname "$lockstep")/write_schemas ]]; then
  "$(dirname "$lockstep")/write_schemas" configs/schema
fi
folder=${2:-docs/reference}
mkdir -p "$folder"
export COLUMNS=100 NO_COLOR=1

# The names below "Subcommands:" of a help text.
subcommands() {
  "$lockstep" "$@" --help | awk '
    /^Subcommands:/ { inside = 1; next }
    inside && /^[^ ]/ { inside = 0 }
    inside && /^  [a-z]/ { print $1 }'
}

describe() {
  local title="lockstep${*:+ $*}" name
  printf '\n## %s\n\n```text\n' "$title"
  "$lockstep" "$@" --help
  printf '```\n'
  for name in $(subcommands "$@"); do describe "$@" "$name"; done
}

{
  printf '# Commands\n\nThe `--help` of every command, written by `tools/refresh_reference.sh`.\n'
  describe
} >"$folder/commands.md.new"  # kept only if every command could be asked
mv "$folder/commands.md.new" "$folder/commands.md"

# Columns and concepts, as `lockstep help` explains them.
if words=$("$lockstep" help --format md 2>/dev/null); then
  printf '# Columns, concepts and options\n\nThe entries of `lockstep help`, written by `tools/refresh_reference.sh`.\n\n%s\n' \
    "$words" >"$folder/words.md"
fi

perl - configs/schema/*.schema.json >"$folder/keys.md" <<'PERL'
use strict;
use warnings;
binmode STDOUT, ':utf8';

# JSON with objects as lists of pairs, which keep the order of the file.
my ($text, $file);
sub fail { die "$file: no JSON at " . substr($text, pos($text) // 0, 20) . "\n" }
sub value {
  $text =~ /\G\s*/gc;
  if ($text =~ /\G\{\s*/gc) {
    my @pairs;
    until ($text =~ /\G\s*\}/gc) {
      my $key = value();
      $text =~ /\G\s*:/gc or fail();
      push @pairs, [$key, value()];
      $text =~ /\G\s*,/gc;
    }
    return bless {(map { $_->[0] => $_->[1] } @pairs), "\0pairs" => \@pairs}, 'Object';
  }
  if ($text =~ /\G\[/gc) {
    my @items;
    until ($text =~ /\G\s*\]/gc) { push @items, value(); $text =~ /\G\s*,/gc }
    return \@items;
  }
  if ($text =~ /\G"((?:[^"\\]|\\.)*)"/gc) {
    my $it = $1;
    $it =~ s/\\u([0-9a-fA-F]{4})/chr hex $1/ge;
    $it =~ s/\\(.)/$1 eq 'n' ? "\n" : $1/ge;
    return $it;
  }
  return $1 if $text =~ /\G([-+0-9.eE]+|true|false|null)/gc;
  fail();
}

sub object { ref $_[0] eq 'Object' }
my $root;
sub resolved {
  my ($node) = @_;
  while (object($node)) {
    my $ref = $node->{'$ref'} // (ref $node->{allOf} eq 'ARRAY' ? $node->{allOf}[0]{'$ref'} : undef);
    last unless defined $ref && $ref =~ m{^#/definitions/(.*)};
    my $target = $root->{definitions}{$1};
    $node = bless {%$target, (exists $node->{description} ? (description => $node->{description}) : ())}, 'Object';
  }
  return $node;
}

sub shape {
  my ($node) = @_;
  return join ', ', map { "`$_`" } grep { $_ ne 'null' } @{$node->{enum}} if $node->{enum};
  return "`$node->{const}`" if exists $node->{const};
  return join ' or ', map { shape(resolved($_)) } @{$node->{oneOf}} if $node->{oneOf};
  my $type = $node->{type} // 'any';
  $type = join ' or ', @$type if ref $type eq 'ARRAY';
  return 'array' if $type eq 'array';
  return 'text with a unit' if $type eq 'string' && $node->{pattern};
  return {string => 'text', boolean => 'true, false', object => 'object'}->{$type} // $type
    unless $type eq 'integer' || $type eq 'number';
  my ($low, $high) = @$node{qw(minimum maximum)};
  return $type . (defined $low && defined $high ? ", $low to $high" : defined $low ? ", at least $low" : '');
}

my %seen;
sub rows {
  my ($node, $path, $rows) = @_;
  $node = resolved($node);
  return unless object($node);
  rows($_, $path, $rows) for @{$node->{oneOf} // []};
  rows($node->{items}, $path . '[]', $rows) if $node->{items} && object($node->{items});
  return unless $node->{properties};
  my %required = map { $_ => 1 } @{$node->{required} // []};
  for my $pair (@{$node->{properties}{"\0pairs"}}) {
    my ($key, $raw) = @$pair;
    next if $key eq '$schema';
    my $value = resolved($raw);
    my $name = $path eq '' ? $key : "$path.$key";
    my $text = $value->{description} // '';
    my $row = "| `$name` | " . shape($value) . ' | ' . ($required{$key} ? 'yes' : '') . " | $text |";
    next if $seen{$row}++;
    push @$rows, $row;
    rows($raw, $name, $rows);
  }
}

print "# Keys of config files\n\nEvery key of `configs/schema`, written by `tools/refresh_reference.sh`. Unknown keys are errors.\n";
print "A quantity is text with its unit, such as `\"400 Gb/s\"`, `\"2 us\"` or `\"80 GiB\"`. `[]` is an item of an array.\n";
for my $schema (@ARGV) {
  $file = $schema;
  open my $in, '<:utf8', $schema or die "$schema: $!\n";
  local $/;
  $text = <$in>;
  pos($text) = 0;
  $root = value();
  %seen = ();
  my @rows;
  rows($root, '', \@rows);
  (my $title = $root->{title}) =~ s/^Lockstep //;
  (my $name = $schema) =~ s|.*/||;
  print "\n## ", ucfirst($title), "\n\n$root->{description} Schema: `configs/schema/$name`.\n\n";
  print "| key | value | required | description |\n|---|---|---|---|\n", join("\n", @rows), "\n";
}
PERL
